-- title: Rate of each transfer in the order of time
-- question: Did the rate change while the run went on?
-- method: Size over duration of each file that arrived, from its first request to its proof, in the order in which they ended; files that were lost are in lost_files. Files that travel at the same time share the link, so compare within a treatment.
-- tables: cells, transfers
select
    c.direction,
    c.method,
    c.treatment,
    c.factors->>'node' as node,
    c.replicate,
    t.cell,
    t.transfer,
    t.object,
    t.size_bytes,
    row_number() over (
        partition by c.treatment, c.direction
        order by c.began_unix_ns, t.ended_ns, t.transfer
    ) - 1 as place,
    c.began_unix_ns + t.began_ns - min(c.began_unix_ns) over () as began_ns,
    t.duration_ns,
    8e9 * t.size_bytes / t.duration_ns as rate_bits_per_second,
    t.attempts,
    t.outcome,
    sum(t.duration_ns) over (partition by t.cell) / nullif(c.wall_ns, 0) as files_at_once
from 'transfers.parquet' t
join 'cells.parquet' c using (cell)
where not c.warmup and t.duration_ns > 0 and t.outcome in ('ok', 'copied')
order by c.direction, c.treatment, place
