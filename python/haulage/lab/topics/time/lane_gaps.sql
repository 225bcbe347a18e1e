-- title: Gaps in lanes
-- question: How long did a slot stand empty between two requests?
-- method: A gap runs from the end of an attempt to the next slot granted in the same lane. Only gaps of a millisecond and more, the 500 longest of the run.
-- tables: cells, attempts
with ordered as (
    select cell, lane, ended_ns::bigint as began_ns,
           lead(slot_ns::bigint) over (partition by cell, lane order by slot_ns, ended_ns) as until_ns
    from 'attempts.parquet'
    where slot_ns is not null
)
select c.treatment, c.direction, c.size_bytes, cell, lane, began_ns, until_ns, until_ns - began_ns as gap_ns,
       (until_ns - began_ns) / c.wall_ns as share_of_wall
from ordered
join 'cells.parquet' c using (cell)
where not c.warmup and until_ns - began_ns >= 1000000
order by gap_ns desc, cell, lane, began_ns
limit 500
