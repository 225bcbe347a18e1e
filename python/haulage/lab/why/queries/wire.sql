-- title: What the kernel counted
-- question: Did the other end, this side's buffer or lost segments hold the bytes back?
-- method: Counters of each connection that carried payload up, since it was made: its last values, added up. The
--   kernel counts what is sent, so downloads are left out, and so are records without these columns.
-- tables: cells, attempts
with connections as (
    select connection, max(tcp_busy_ns) as busy_ns, max(tcp_rwnd_limited_ns) as window_full_ns,
           max(tcp_sndbuf_limited_ns) as buffer_short_ns, max(tcp_retransmits) as retransmits,
           median(tcp_rtt_ns) as rtt_ns,
           sum(ended_ns - connected_ns) as under_way_ns,
           sum(size_bytes) filter (api in ('PutBlob', 'PutBlock', 'UploadPart', 'PutObject') and sent_ns is not null)
               as bytes
    from 'attempts.parquet'
    where cell = 0 and connection > 0
    group by connection
    having bytes > 0 and busy_ns is not null
)
select count(*) as connections, coalesce(sum(bytes), 0)::bigint as bytes,
       coalesce(sum(busy_ns), 0)::bigint as busy_ns, coalesce(sum(under_way_ns), 0)::bigint as under_way_ns, sum(window_full_ns)::bigint as window_full_ns,
       sum(buffer_short_ns)::bigint as buffer_short_ns, sum(retransmits)::bigint as retransmits,
       median(rtt_ns)::bigint as rtt_ns
from connections
