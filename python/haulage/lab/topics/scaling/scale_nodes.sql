-- title: Each node of each cell
-- question: Which node took how long, and what did its requests do in that time?
-- method: Times from the agreed moment, on one clock, in nanoseconds. The requests of a node are parted at the engine's stamps: local is from the slot to ready bytes and from the last byte to the end; network is connecting, sending and receiving; wait is from sent to the first byte of the answer. What an upload waits beyond the quickest upload of its cell counts as network, for the kernel takes a body at once and sends it later. Idle is the time between its first request and its end in which no request was in flight; backoff is what it waited after refusals, in all its lanes, and may be part of idle.
-- tables: cells, attempts, nodes
with
stamped as (
    select a.cell, a.node as name, a.fate, a.api in ('PutBlob', 'PutBlock', 'PutObject', 'UploadPart') as upload,
           a.size_bytes, coalesce(a.backoff_ns, 0)::bigint as backoff,
           a.slot_ns::bigint as slot, a.ended_ns::bigint as ended,
           greatest(slot, coalesce(a.ready_ns::bigint, 0)) as ready,
           greatest(ready, coalesce(a.sent_ns::bigint, 0)) as sent,
           greatest(sent, coalesce(a.first_byte_ns::bigint, 0)) as first_byte,
           greatest(first_byte, coalesce(a.last_byte_ns::bigint, 0)) as last_byte
    from 'attempts.parquet' a
    join (select distinct cell from 'nodes.parquet') using (cell)
    where a.slot_ns is not null
),
quickest as (
    select cell, min(first_byte - sent) as answer_ns from stamped where fate = 'ok' and upload group by cell
),
spent as (
    select s.cell, s.name, count(*) as requests,
           count(*) filter (fate = 'busy') as refused,
           coalesce(sum(backoff) filter (fate = 'busy'), 0)::bigint as backoff_ns,
           sum(ready - slot + greatest(0, ended - last_byte))::bigint as local_ns,
           sum(sent - ready + greatest(0, last_byte - first_byte)
               + case when upload then greatest(0, first_byte - sent - q.answer_ns) else 0 end)::bigint as network_ns,
           sum(case when upload then least(first_byte - sent, q.answer_ns) else first_byte - sent end)::bigint as wait_ns,
           min(slot) as first_slot_ns
    from stamped s
    left join quickest q using (cell)
    group by s.cell, s.name
),
marked as (
    select cell, name, slot, ended,
           slot - max(ended) over (partition by cell, name order by slot, ended rows between unbounded preceding and 1 preceding) as gap
    from stamped
),
gaps as (
    select cell, name, coalesce(sum(gap) filter (gap > 0), 0)::bigint as idle_ns, coalesce(max(gap) filter (gap > 0), 0)::bigint as longest_idle_ns
    from marked
    group by cell, name
)
select
    c.direction, c.size_bytes, c.factors->>'node' as node_size, c.factors->>'arm' as arm,
    (c.factors->>'node_count')::integer as node_count, (c.factors->>'again')::boolean as is_again, c.replicate, cell,
    n.node, n.name, n.host, n.link, n.outcome, n.cause, n.bytes_declared, n.bytes,
    n.offset_ns, n.offset_bound_ns, n.began_ns, n.ended_ns, c.wall_ns,
    (n.ended_ns - n.began_ns)::bigint as duration_ns,
    8e9 * n.bytes / nullif(n.ended_ns - n.began_ns, 0) as rate_bits_per_second,
    s.requests, s.refused, s.backoff_ns, s.local_ns, s.network_ns, s.wait_ns, g.idle_ns, g.longest_idle_ns, n.cpu_ns
from 'nodes.parquet' n
join 'cells.parquet' c using (cell)
left join spent s using (cell, name)
left join gaps g using (cell, name)
where not c.warmup
order by c.direction, c.size_bytes, node_size, arm, node_count, is_again, c.replicate, cell, n.node
