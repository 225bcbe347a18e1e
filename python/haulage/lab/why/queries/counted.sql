-- title: Requests by how they ended
-- question: How many requests were there, and how long were those that failed under way?
-- method: Attempts with a connection, or that ended badly before they had one. Refused ones (503) are not among the
--   failed; nor are those cancelled because another attempt was quicker.
-- tables: cells, attempts
select cell, count(*) filter (connected_ns is not null or fate <> 'ok') as requests,
       count(*) filter (fate = 'busy') as refused,
       coalesce(sum(ended_ns - coalesce(connected_ns, slot_ns)) filter (fate not in ('ok', 'busy', 'cancelled')), 0)::double
           as failed_ns
from 'attempts.parquet'
group by cell
order by cell
