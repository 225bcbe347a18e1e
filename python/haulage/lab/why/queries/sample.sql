-- title: Requests, and how many were in flight beside them
-- question: Does a request take longer for more bytes, for more beside it, or for neither?
-- method: Payload requests that ended well; of more than 20,000 every so many. Beside is the mean number of attempts
--   with a connection during its life, itself included: time in flight until its end less that until its beginning,
--   over its time.
-- tables: cells, attempts
with
attempt as (
    select cell, fate, api, size_bytes as bytes, connected_ns as began,
           greatest(coalesce(last_byte_ns, ended_ns), connected_ns + 1) as ended
    from 'attempts.parquet'
    where connected_ns is not null
),
marks as (
    select cell, moment, sum(n)::bigint as n, sum(offset_ns)::hugeint as offset_ns
    from (
        select cell, began as moment, 1 as n, -began as offset_ns from attempt
        union all
        select cell, ended, -1, ended from attempt
    )
    group by cell, moment
),
-- Time in flight of all until a moment is the moment times level, and offset.
flight as (
    select cell, moment, sum(n) over until_then as level, sum(offset_ns) over until_then as offset_ns
    from marks
    window until_then as (partition by cell order by moment)
),
payload as (
    select *, count(*) over (partition by cell) as n, row_number() over (partition by cell order by began, ended) as number
    from attempt
    where fate = 'ok' and bytes > 0
        and api in ('PutBlob', 'PutBlock', 'GetBlob', 'UploadPart', 'PutObject', 'GetObject')
),
picked as (select * from payload where number % greatest(n // 20000, 1) = 0)
select p.cell, p.number, p.began as began_ns, p.bytes::double as bytes, (p.ended - p.began)::double as took_ns,
       greatest(1, ((p.ended * e.level + e.offset_ns) - (p.began * b.level + b.offset_ns)) / (p.ended - p.began)) as beside
from picked p
join flight b on b.cell = p.cell and b.moment = p.began
join flight e on e.cell = p.cell and e.moment = p.ended
order by p.cell, p.number
