-- title: Rate by number of requests in flight
-- question: From how many requests on does the rate no longer rise?
-- method: One row a cell of the treatments that fix the number. The number is the one that took effect: no more
--    than there were blocks or files, and no more than were seen in flight. Settings that came to the same number
--    are one point.
-- tables: cells
with fixed as (
    select
        *,
        case
            when method not in ('blocks', 'put-blocks', 'ranges') then files
            when block_size_bytes > 0 then files * greatest(1, ceil(size_bytes / block_size_bytes))
        end as pieces,
        max(nullif(lanes, 0)) over (partition by direction, treatment, size_bytes, files) as seen
    from 'cells.parquet'
    where not warmup and outcome = 'ok' and concurrency is not null and method <> 'ceiling'
        and treatment not like '%-again%' and factors->>'node_count' is null
)
select
    direction, method, size_bytes, files, block_size_bytes,
    cast(least(concurrency, coalesce(if(size_bytes is null, null, pieces), concurrency),
        coalesce(seen, concurrency)) as integer) as concurrency,
    concurrency as asked, replicate, cell, lanes,
    8e9 * bytes / nullif(wall_ns, 0) as rate_bits_per_second,
    cpu_ns / nullif(wall_ns, 0) as cpu_share_of_one_core
from fixed
order by direction, method, size_bytes, files, block_size_bytes, concurrency, asked, replicate, cell
