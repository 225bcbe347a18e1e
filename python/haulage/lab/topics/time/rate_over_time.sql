-- title: Rate at each moment of a run, by cell
-- question: When did bytes move, and when did they not?
-- method: The time of each cell in 100 equal parts; the bytes of an attempt are spread evenly between its connection and its last byte. In flight is the mean number of attempts, opening the part of it that waited for the first answer of a connection. Every cell is a row of a heat map.
-- tables: cells, attempts
with
grid as (
    select cell, treatment, direction, replicate, size_bytes, factors->>'node' as node, wall_ns,
           unnest(range(100)) as part
    from 'cells.parquet'
    where recorded and not warmup and wall_ns > 0
),
spans as (
    select a.cell, c.wall_ns,
           coalesce(a.connected_ns, a.slot_ns)::bigint as began,
           greatest(coalesce(a.last_byte_ns, a.ended_ns), coalesce(a.connected_ns, a.slot_ns) + 1)::bigint as ended,
           case when a.fate = 'ok' then a.size_bytes else 0 end as bytes,
           not a.connection_reused as opening
    from 'attempts.parquet' a
    join 'cells.parquet' c using (cell)
    where not c.warmup and c.wall_ns > 0 and coalesce(a.connected_ns, a.slot_ns) is not null
),
parts as (
    select cell, wall_ns, began, ended, bytes, opening,
           unnest(range(least(99, 100 * began // wall_ns)::bigint, least(99, 100 * ended // wall_ns)::bigint + 1)) as part
    from spans
),
sums as (
    select cell, part,
           sum(bytes * (least(ended, (part + 1) * wall_ns / 100) - greatest(began, part * wall_ns / 100))
               / (ended - began)) as bytes,
           sum(least(ended, (part + 1) * wall_ns / 100) - greatest(began, part * wall_ns / 100)) as busy_ns,
           sum(least(ended, (part + 1) * wall_ns / 100) - greatest(began, part * wall_ns / 100))
               filter (opening) as opening_ns
    from parts
    group by cell, part
)
select g.direction, g.treatment, g.node, g.size_bytes, g.replicate, cell, part,
       (part * g.wall_ns / 100)::bigint as began_ns,
       8e9 * coalesce(s.bytes, 0) / (g.wall_ns / 100) as rate_bits_per_second,
       coalesce(s.busy_ns, 0) / (g.wall_ns / 100) as in_flight,
       coalesce(s.opening_ns / nullif(s.busy_ns, 0), 0) as opening_share
from grid g
left join sums s using (cell, part)
order by cell, part
