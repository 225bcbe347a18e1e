-- title: Remote addresses
-- question: Were requests to one address slower than to another?
-- method: Payload requests that ended well, of at least half the usual size; their rates by address and direction, from the
--   connection to the last byte. Addresses with fewer than 8 of them are left out.
-- tables: cells, attempts
with
timed as (
    select remote, api in ('GetBlob', 'GetObject') as is_down, size_bytes,
           8e9 * size_bytes / greatest(coalesce(last_byte_ns, ended_ns) - connected_ns, 1) as bits_per_second
    from 'attempts.parquet'
    where cell = 0 and fate = 'ok' and size_bytes > 0 and connected_ns is not null and remote is not null
        and api in ('PutBlob', 'PutBlock', 'GetBlob', 'UploadPart', 'PutObject', 'GetObject')
),
usual as (
    select is_down, median(size_bytes) as usual_bytes
    from timed
    group by is_down
)
select remote, is_down, count(*) as requests, median(size_bytes)::double as median_bytes,
       quantile_cont(bits_per_second, 0.1) as slow_bits_per_second, median(bits_per_second) as usual_bits_per_second,
       quantile_cont(bits_per_second, 0.9) as fast_bits_per_second
from timed
join usual using (is_down)
where size_bytes >= usual.usual_bytes / 2
group by remote, is_down
having count(*) >= 8
order by is_down, usual_bits_per_second, remote
