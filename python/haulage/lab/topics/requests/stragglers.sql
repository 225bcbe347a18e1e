-- title: Stragglers
-- question: Which requests took much longer than their like?
-- method: Time from connection to answer over the median of all requests of the same cell, kind and size class (powers of two). Three times as long counts; the 500 worst.
-- tables: cells, attempts
with timed as (
    select cell, api, object, offset_bytes, size_bytes, attempt, lane, fate, slot_ns,
           (coalesce(last_byte_ns, ended_ns) - coalesce(connected_ns, slot_ns))::bigint as took_ns,
           floor(log2(greatest(size_bytes, 1)))::integer as class
    from 'attempts.parquet'
    where slot_ns is not null
),
peers as (
    select cell, api, class, median(took_ns) as usual_ns, count(*) as peers
    from timed
    where fate = 'ok'
    group by all
)
select c.treatment, c.direction, cell, api, object, offset_bytes, timed.size_bytes, attempt, lane, fate, slot_ns,
       took_ns, usual_ns, took_ns / usual_ns as times_as_long, peers
from timed
join peers using (cell, api, class)
join 'cells.parquet' c using (cell)
where not c.warmup and peers >= 5 and usual_ns > 0 and took_ns > 3 * usual_ns
order by times_as_long desc, cell, slot_ns, lane
limit 500
