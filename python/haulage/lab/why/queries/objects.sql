-- title: Slowest objects
-- question: Which objects took longest, and how many requests had each?
-- method: From the first slot to the end of the last attempt of each object; the ten longest.
-- tables: cells, attempts
select any_value(object) as object, sum(size_bytes) filter (fate = 'ok') as bytes, count(*) as attempts,
       count(*) filter (fate <> 'ok') as not_ok,
       min(slot_ns) as began_ns, max(ended_ns) - min(slot_ns) as took_ns
from 'attempts.parquet'
where cell = 0
group by coalesce(object_id::varchar, object)
order by took_ns desc, began_ns, object
limit 10
