-- title: Rate by treatment and size
-- question: How fast was each treatment at each size?
-- method: Median goodput of the cells that ended well, warm-ups left out. Intervals are made from the same cells, in rate_intervals.
-- tables: cells
select
    direction,
    size_bytes,
    files,
    method,
    treatment,
    concurrency,
    block_size_bytes,
    factors->>'node' as node,
    count(*) as n,
    count(*) filter (outcome <> 'ok') as failed,
    median(8e9 * bytes / nullif(wall_ns, 0)) filter (outcome = 'ok') as rate_bits_per_second,
    min(8e9 * bytes / nullif(wall_ns, 0)) filter (outcome = 'ok') as slowest_bits_per_second,
    max(8e9 * bytes / nullif(wall_ns, 0)) filter (outcome = 'ok') as fastest_bits_per_second,
    median(wall_ns) filter (outcome = 'ok') as wall_ns
from 'cells.parquet'
where not warmup and method <> 'ceiling'
group by all
order by direction, size_bytes, files, node, method, block_size_bytes, concurrency, treatment
