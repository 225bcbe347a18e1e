-- Payload rate over time. Parameters: $record, and $bins, the number of equal steps of the job's wall time.
-- Each request's bytes are spread evenly over the time in which they travelled (see ledger.sql).
with spans as (
    select size_bytes::bigint as size_bytes, fate, api in ('PutBlob', 'PutBlock') as upload,
        connected_ns::bigint as connected, sent_ns::bigint as sent, ended_ns::bigint as ended,
        first_byte_ns::bigint as first_byte, last_byte_ns::bigint as last_byte
    from read_parquet($record)
),
pace as (
    select greatest(min(first_byte - sent) filter (fate = 'ok'), 0) as answer, max(ended) as wall, wall / $bins as step
    from spans
),
moves as (
    select size_bytes,
        case when upload then connected else first_byte end as began,
        greatest(began + 1, case when upload then first_byte - answer else last_byte end) as done
    from spans, pace
    where fate = 'ok' and size_bytes > 0 and first_byte is not null
)
select bin * step / 1e9 as begin_s, (bin + 1) * step / 1e9 as end_s,
    coalesce(sum(size_bytes * 8
        * greatest(0, least(done, (bin + 1) * step) - greatest(began, bin * step)) / (done - began)), 0)
        / (step / 1e9) / 1e6 as mbit_per_s
from (select unnest(range($bins)) as bin), pace, moves
group by bin, step
order by bin
