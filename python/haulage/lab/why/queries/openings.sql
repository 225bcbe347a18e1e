-- title: Connections that were made
-- question: How long did names, proxies and TLS take?
-- method: Attempts over a connection made for them, and the time between the body and the connection; names, the tunnel of a
--   proxy and TLS are parts of it, as far as the record has them.
-- tables: cells, attempts
select count(*) as opened, coalesce(sum(greatest(connected_ns - coalesce(ready_ns, slot_ns), 0)), 0)::bigint as took_ns,
       coalesce(sum(dns_ns), 0)::bigint as names_ns, coalesce(sum(tls_ns), 0)::bigint as tls_ns,
       coalesce(sum(proxy_ns), 0)::bigint as proxy_ns
from 'attempts.parquet'
where cell = 0 and connection > 0 and not connection_reused
