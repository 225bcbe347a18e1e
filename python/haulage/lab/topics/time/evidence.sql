-- title: What speaks for each cause, by cell
-- question: What held the rate?
-- method: Rates of single requests against the number in flight at their middle: if a link is shared, a request slows
--   as others join (slope -1 on logarithms); if each connection has its own bound, it does not (slope 0). Payload
--   requests of at least half the usual size that ended well; their time is taken without the quickest answer.
-- tables: cells, attempts
-- after: answers
with
data as (
    select row_number() over () as number, a.cell, a.api, a.size_bytes::double as bytes, a.slot_ns::bigint as slot, a.ended_ns::bigint as ended,
           a.fate, a.lane, a.connection, w.answer_ns,
           (coalesce(a.last_byte_ns, a.ended_ns)::bigint - coalesce(a.connected_ns, a.slot_ns)::bigint) as took_ns
    from 'attempts.parquet' a
    join 'cells.parquet' c using (cell)
    left join answers w using (cell)
    where not c.warmup and a.slot_ns is not null
),
-- In flight at the middle of each request: slots taken until then less those left, by counting rows alone.
middles as (select cell, number, (slot + ended) // 2 as moment, 0 as kind from data),
taken as (
    select number, row_number() over (partition by cell order by moment, kind desc, number) as before, kind
    from (from middles union all select cell, number, slot, 1 from data)
),
left_ as (
    select number, row_number() over (partition by cell order by moment, kind, number) as before, kind
    from (from middles union all select cell, number, ended, 1 from data)
),
-- Both counts hold the middles before this one, so these cancel out.
during as (
    select t.number, t.before - l.before as in_flight
    from (from taken where kind = 0) t
    join (from left_ where kind = 0) l using (number)
),
flown as (
    select d.*, f.in_flight,
           median(d.bytes) filter (d.fate = 'ok' and d.bytes > 0) over (partition by d.cell) as usual_bytes,
           d.bytes / nullif(greatest(d.took_ns - d.answer_ns, d.took_ns * 0.02), 0) as bytes_per_ns
    from data d
    join during f using (number)
),
fitted as (
    select cell,
        count(*) filter (judged) as judged,
        regr_slope(ln(bytes_per_ns), ln(in_flight)) filter (judged) as slope,
        quantile_cont(in_flight, 0.9) filter (judged) / quantile_cont(in_flight, 0.1) filter (judged) as spread,
        median(bytes_per_ns) filter (judged) * 8e9 as request_bits_per_second,
        median(in_flight) filter (judged) as in_flight,
        median(took_ns) filter (judged) as took_ns,
        max(usual_bytes) as usual_bytes,
        max(answer_ns) as answer_ns
    from (
        select *, fate = 'ok' and bytes > 0 and bytes >= usual_bytes / 2 and in_flight > 0 and bytes_per_ns > 0
            as judged
        from flown
    )
    group by cell
),
refused as (
    select cell, count(*) as attempts, count(*) filter (fate = 'busy') as refused,
           count(distinct connection) as connections,
           median(took_ns) filter (api in ('PutBlockList', 'CompleteMultipartUpload') and fate = 'ok') as commit_ns,
           count(*) filter (api in ('PutBlockList', 'PutBlob', 'CompleteMultipartUpload', 'PutObject')
               and fate = 'ok') as commits
    from data
    group by cell
),
inputs as (
    select cell, treatment, method, direction, size_bytes, files, replicate, concurrency, wall_ns, bytes,
           8e9 * bytes / nullif(wall_ns, 0) as rate_bits_per_second, outcome,
           cpu_ns / nullif(wall_ns, 0) as cpu_share_of_one_core,
           coalesce(factors->>'checksum', 'crc64') as checksum
    from 'cells.parquet'
    where recorded and not warmup
)
select i.*, r.attempts, r.refused, r.refused / r.attempts as refused_share, r.connections, r.commits, r.commit_ns,
       f.judged, f.slope, f.spread, f.request_bits_per_second, f.in_flight, f.took_ns, f.usual_bytes, f.answer_ns,
       w.is_of_empty_request
from inputs i
join refused r using (cell)
left join fitted f using (cell)
left join answers w on w.cell = i.cell
order by i.cell
