-- title: Rate by number of requests in flight
-- question: From how many requests on does the rate no longer rise?
-- method: One row a cell of the treatments that fix the number.
-- tables: cells
select
    direction, method, size_bytes, files, block_size_bytes, concurrency, replicate, cell, lanes,
    8e9 * bytes / nullif(wall_ns, 0) as rate_bits_per_second,
    cpu_ns / nullif(wall_ns, 0) as cpu_share_of_one_core
from 'cells.parquet'
where not warmup and outcome = 'ok' and concurrency is not null and method <> 'ceiling'
    and treatment not like '%-again%'
order by direction, method, size_bytes, files, block_size_bytes, concurrency, replicate, cell
