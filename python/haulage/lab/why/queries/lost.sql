-- title: Refusals and retries
-- question: What did not end well, and what did it cost?
-- method: Attempts by how they ended. Lost is their time in a slot, waited the pause before the next try; both in lanes.
-- tables: cells, attempts
select fate, status, cause, count(*) as attempts, sum(size_bytes)::bigint as bytes,
       sum(ended_ns - slot_ns)::bigint as lost_ns, sum(coalesce(backoff_ns, 0))::bigint as waited_ns,
       count(*) filter (retry_after_ns is not null) as told_when,
       max(retry_after_ns) as longest_retry_after_ns
from 'attempts.parquet'
where cell = 0 and fate <> 'ok'
group by all
order by attempts desc, fate, status, cause
limit 20
