-- title: Requests with payload
-- question: How long did requests take for how many bytes?
-- method: Requests that ended well, from the connection to the last byte. Rates are of single requests, without the
--   quickest answer of the path; those below half the usual size are left out of them.
-- tables: cells, attempts
-- after: answers
with
timed as (
    select a.cell, a.api, a.size_bytes::double as bytes, a.connection,
           (coalesce(a.last_byte_ns, a.ended_ns) - a.connected_ns)::double as took_ns,
           greatest(took_ns - coalesce(w.answer_ns, 0), took_ns * 0.02) as moved_ns,
           8e9 * bytes / nullif(moved_ns, 0) as bits_per_second
    from 'attempts.parquet' a
    left join answers w using (cell)
    where a.fate = 'ok' and a.size_bytes > 0 and a.connected_ns is not null
        and a.api in ('PutBlob', 'PutBlock', 'GetBlob', 'UploadPart', 'PutObject', 'GetObject')
),
usual as (
    select cell, median(bytes) as usual_bytes
    from timed
    group by cell
),
lists as (
    select cell, count(*) as commits,
           sum(coalesce(last_byte_ns, ended_ns) - connected_ns)::double as commits_ns,
           median(coalesce(last_byte_ns, ended_ns) - connected_ns)::double as commit_ns
    from 'attempts.parquet'
    where api in ('PutBlockList', 'CompleteMultipartUpload') and connected_ns is not null and fate = 'ok'
    group by cell
)
select cell, count(*) as requests, count(*) filter (api in ('PutBlob', 'PutObject')) as whole_uploads,
       sum(bytes) as bytes,
       count(distinct connection) filter (connection > 0) as connections,
       any_value(usual_bytes) as usual_bytes, median(took_ns) as took_ns,
       quantile_cont(bits_per_second, 0.1) filter (bytes >= usual_bytes / 2) as slow_bits_per_second,
       median(bits_per_second) filter (bytes >= usual_bytes / 2) as usual_bits_per_second,
       quantile_cont(bits_per_second, 0.9) filter (bytes >= usual_bytes / 2) as fast_bits_per_second,
       any_value(commits) as commits, any_value(commits_ns) as commits_ns, any_value(commit_ns) as commit_ns
from timed
join usual using (cell)
left join lists using (cell)
group by cell
order by cell
