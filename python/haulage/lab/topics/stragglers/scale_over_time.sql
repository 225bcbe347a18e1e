-- title: Rate of each node at each moment
-- question: When did which node move bytes, and when did it not?
-- method: The time of a cell, from the agreed moment until the last node had ended, in 100 equal parts; the bytes of a request are spread evenly from its connection to its last byte. Of each direction the cells with the most nodes.
-- tables: cells, attempts, nodes
with
chosen as (
    select cell, direction, (factors->>'node_count')::integer as node_count, replicate, wall_ns
    from 'cells.parquet'
    where factors->>'node_count' is not null and not warmup and wall_ns > 0
    qualify node_count = max(node_count) over (partition by direction)
),
grid as (
    select c.direction, c.node_count, c.replicate, c.cell, c.wall_ns, n.node, n.name, n.outcome, unnest(range(100)) as part
    from chosen c
    join 'nodes.parquet' n using (cell)
),
spans as (
    select a.cell, a.node as name, c.wall_ns, case when a.fate = 'ok' then a.size_bytes else 0 end as bytes,
           coalesce(a.connected_ns, a.slot_ns)::bigint as began,
           greatest(coalesce(a.last_byte_ns, a.ended_ns), coalesce(a.connected_ns, a.slot_ns) + 1)::bigint as ended
    from 'attempts.parquet' a
    join chosen c using (cell)
    where coalesce(a.connected_ns, a.slot_ns) is not null
),
parts as (
    select *, unnest(range(least(99, 100 * began // wall_ns)::bigint, least(99, 100 * ended // wall_ns)::bigint + 1)) as part
    from spans
),
sums as (
    select cell, name, part,
           sum(bytes * greatest(0, least(ended, (part + 1) * wall_ns / 100) - greatest(began, part * wall_ns / 100))
               / (ended - began)) as bytes
    from parts
    group by cell, name, part
)
select g.direction, g.node_count, g.replicate, g.cell, g.node, g.name, g.outcome, g.part,
       (g.part * g.wall_ns / 100)::bigint as began_ns,
       8e9 * coalesce(s.bytes, 0) / (g.wall_ns / 100) as rate_bits_per_second
from grid g
left join sums s using (cell, name, part)
order by g.direction, g.cell, g.node, g.part
