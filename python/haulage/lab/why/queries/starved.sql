-- title: Time in which nothing was there to be moved
-- question: How long was no request in flight and none queued, and how long did a lane usually wait for the next to be queued?
-- method: An attempt counts from when it was queued to its end and the pause after it. What is left between the first and the
--   last of a job is empty. A lane waits from the end of an attempt until its next one is queued; lanes that were no longer
--   allowed wait long, and are few.
-- tables: cells, attempts
with spans as (
    select cell, lane, slot_ns, ended_ns, queued_ns, least(coalesce(queued_ns, slot_ns), slot_ns) as began_ns,
           ended_ns + coalesce(backoff_ns, 0) as over_ns
    from 'attempts.parquet'
),
ordered as (
    select cell, began_ns - max(over_ns) over before as empty_ns, ended_ns - slot_ns as held_ns,
           queued_ns - lag(over_ns) over lane as waited_ns
    from spans
    window before as (partition by cell order by began_ns rows between unbounded preceding and 1 preceding),
           lane as (partition by cell, lane order by slot_ns, ended_ns)
)
select cell, coalesce(sum(greatest(empty_ns, 0)), 0)::double as empty_ns,
       median(greatest(waited_ns, 0))::double as usual_wait_ns, median(held_ns)::double as usual_held_ns
from ordered
group by cell
order by cell
