-- title: What the simulation is made from
-- question: What does each node have to do, how long does an answer take, and how long did so many nodes take?
-- method: Of each direction and arm: the requests of one node alone, in one cell (rows of kind request; those without a body commit); the quickest answers without a body, the 10th percentile of commits and of first bytes of downloads (latency); the time before the first request (start); the lanes of a node; the spread of the logarithm of the ends of nodes of one cell (1.4826 times their median deviation, so that a straggler is no part of it); and wall time and both rates of every cell.
-- tables: cells, attempts, nodes
-- after: scale_cells, scale_nodes
with
curve as (
    select cell, direction, size_bytes, node_size, arm, node_count, replicate, is_again from scale_cells
    where outcome = 'ok' and missing = 0
),
alone as (
    select direction, size_bytes, node_size, arm, min(cell) as cell
    from curve where node_count = 1 and not is_again
    group by all
),
data as (
    select c.*, a.object_id, a.api, a.size_bytes as bytes, a.lane, a.slot_ns, a.offset_bytes,
           a.first_byte_ns::bigint - a.sent_ns::bigint as answer_ns,
           a.size_bytes = 0 or a.api in ('PutBlockList', 'CompleteMultipartUpload') as commits
    from curve c
    join 'attempts.parquet' a using (cell)
    where a.fate = 'ok' and a.slot_ns is not null and c.node_count = 1
)
select d.direction, d.size_bytes, d.node_size, d.arm, 'request' as kind, null::integer as node_count, null::integer as replicate,
       d.object_id::bigint as number, case when d.commits then 0 else d.bytes end::double as value, null::double as other
from data d join alone using (cell)
union all
select direction, size_bytes, node_size, arm, 'latency', null, null, count(*), quantile_cont(answer_ns, 0.1)::double, null
from data where answer_ns > 0 and (commits or direction = 'down')
group by direction, size_bytes, node_size, arm
union all
select direction, size_bytes, node_size, arm, 'lanes', null, null, null, max(lane) + 1, null
from data group by direction, size_bytes, node_size, arm
union all
select direction, size_bytes, node_size, arm, 'start', null, null, null, median(first)::double, null
from (select direction, size_bytes, node_size, arm, cell, min(slot_ns) as first from data group by all)
group by direction, size_bytes, node_size, arm
union all
select direction, size_bytes, node_size, arm, 'spread', null, null, count(*), avg(sd), null
from (
    select direction, size_bytes, node_size, arm, cell, 1.4826 * mad(ln(ended_ns)) as sd
    from scale_nodes where outcome = 'ok' and node_count between 2 and 4
    group by all
)
group by direction, size_bytes, node_size, arm
union all
select direction, size_bytes, node_size, arm, 'cell', node_count, replicate, cell, rate_bits_per_second, all_active_bits_per_second
from scale_cells where outcome = 'ok' and missing = 0 and not is_again
order by direction, size_bytes, node_size, arm, kind, node_count, replicate, number, value
