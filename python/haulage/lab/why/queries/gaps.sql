-- title: Slots that stood empty though work was queued
-- question: How long until a slot that was given back was taken again?
-- method: From the end of an attempt to the next slot of its lane, where that attempt was queued before. Long gaps of
--   single lanes are a lower number that was allowed; a gap after every attempt is none.
-- tables: cells, attempts
with next as (
    select cell, ended_ns - slot_ns as held_ns, ended_ns,
           lead(slot_ns) over lane as next_slot_ns, lead(queued_ns) over lane as next_queued_ns
    from 'attempts.parquet'
    window lane as (partition by cell, lane order by slot_ns, ended_ns)
)
select cell, count(*) as gaps, median(greatest(next_slot_ns - ended_ns, 0))::double as usual_gap_ns,
       sum(greatest(next_slot_ns - ended_ns, 0))::double as gaps_ns, median(held_ns)::double as usual_held_ns
from next
where next_queued_ns <= ended_ns
group by cell
order by cell
