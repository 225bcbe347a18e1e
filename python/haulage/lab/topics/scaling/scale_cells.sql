-- title: Cells of many nodes
-- question: How much did so many nodes move together, and did they begin together?
-- method: One row a cell that was run with several numbers of nodes. Two rates: all bytes until the last node had ended, counted from the agreed moment; and what was moved from the moment when the last node had begun until the first had ended, the bytes of a request spread evenly over its time. The second is counted once more from the moment when every lane has ended its first request, if a fifth of that time or more is left: what a link lets through at the start then counts no more, and the end of each node counts twice as much, so that the truth is between the two. The starts are on one clock; each is known to the bound of its node's offset, so their spread to twice the largest. A node without a file of its own is missing, and its cell is in no rate.
-- tables: cells, attempts, nodes
with
many as (
    select *, (factors->>'node_count')::integer as node_count
    from 'cells.parquet'
    where factors->>'node_count' is not null and not warmup
),
seen as (
    select cell, count(*) as declared,
           count(*) filter (outcome = 'node_lost' or (outcome = 'ok' and not recorded)) as missing,
           string_agg(name, ', ' order by node)
               filter (outcome = 'node_lost' or (outcome = 'ok' and not recorded)) as missing_names,
           max(began_ns) filter (outcome <> 'node_lost') as from_ns,
           min(ended_ns) filter (outcome <> 'node_lost') as until_ns,
           (max(began_ns) - min(began_ns))::bigint as start_spread_ns,
           2 * max(offset_bound_ns)::bigint as start_bound_ns
    from 'nodes.parquet'
    group by cell
),
spans as (
    select a.cell, a.node, a.lane, a.size_bytes as bytes, from_ns::bigint as from_ns, until_ns::bigint as until_ns,
           coalesce(a.connected_ns, a.slot_ns)::bigint as began,
           greatest(coalesce(a.last_byte_ns, a.ended_ns), coalesce(a.connected_ns, a.slot_ns) + 1)::bigint as ended
    from 'attempts.parquet' a
    join seen s on s.cell = a.cell
    where a.fate = 'ok' and coalesce(a.connected_ns, a.slot_ns) is not null
),
lanes as (
    select a.cell, a.node, a.lane, arg_min(ended, began) as ended
    from spans a
    where bytes > 0
    group by a.cell, a.node, a.lane
),
warm as (
    select l.cell, max(l.ended) as from_ns
    from lanes l
    group by l.cell
),
later as (
    select s.cell, any_value(s.until_ns - w.from_ns) as time_ns,
           sum(s.bytes * greatest(0, least(s.ended, s.until_ns) - greatest(s.began, w.from_ns)) / (s.ended - s.began)) as bytes
    from spans s
    join warm w using (cell)
    where s.until_ns - w.from_ns >= (s.until_ns - s.from_ns) / 5
    group by s.cell
),
within as (
    select cell, sum(bytes * greatest(0, least(ended, until_ns) - greatest(began, from_ns)) / (ended - began)) as bytes
    from spans
    group by cell
)
select
    m.direction, m.size_bytes, m.factors->>'node' as node_size, m.factors->>'arm' as arm, m.method, m.node_count,
    (m.factors->>'again')::boolean as is_again, m.replicate, m.cell, m.treatment, m.outcome, m.cause,
    s.declared, s.missing, s.missing_names, m.bytes, m.wall_ns,
    8e9 * m.bytes / nullif(m.wall_ns, 0) as rate_bits_per_second,
    greatest(0, s.until_ns::bigint - s.from_ns::bigint) as all_active_ns,
    8e9 * w.bytes / nullif(greatest(0, s.until_ns::bigint - s.from_ns::bigint), 0) as all_active_bits_per_second,
    8e9 * l.bytes / nullif(l.time_ns, 0) as warm_bits_per_second,
    s.start_spread_ns, s.start_bound_ns,
    s.start_spread_ns / nullif(m.wall_ns, 0) as start_spread_share
from many m
join seen s using (cell)
left join within w using (cell)
left join later l using (cell)
order by m.direction, m.size_bytes, node_size, arm, m.node_count, is_again, m.replicate, m.cell
