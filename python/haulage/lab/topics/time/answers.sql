-- title: Quickest answer of the path
-- question: How long does the path take for a request that carries nothing?
-- method: The least time to the first byte of an answer, in each cell and on the whole path: all cells of one
--   direction and node. Up: from the connection, of requests without a body (Begin, GetBlobProperties,
--   PutBlockList, and S3's) over a connection that had served before; of any other request where there were none.
--   Down: of GetBlob and GetObject, from the last byte sent. It is a round trip and the least that the service needs
--   to think.
-- tables: cells, attempts
with
timed as (
    select a.cell, c.treatment, c.direction, c.size_bytes, coalesce(c.factors->>'node', '') as node,
           a.api in ('GetBlob', 'GetObject') as is_get,
           a.connection_reused and a.api in ('Begin', 'GetBlobProperties', 'PutBlockList', 'HeadObject',
               'CompleteMultipartUpload') as is_empty,
           a.first_byte_ns::bigint - case when a.api in ('GetBlob', 'GetObject') then a.sent_ns
               else a.connected_ns end::bigint as answer_ns
    from 'attempts.parquet' a
    join 'cells.parquet' c using (cell)
    where a.fate = 'ok' and a.connected_ns is not null and a.sent_ns is not null and a.first_byte_ns is not null
),
least_of as (
    select cell, treatment, direction, size_bytes, node, count(*) as n, count(*) filter (is_empty) as empty_requests,
           min(answer_ns) filter (is_get) as get_ns,
           min(answer_ns) filter (is_empty) as empty_ns,
           min(answer_ns) as any_ns
    from timed
    group by all
)
select cell, treatment, direction, size_bytes, n, empty_requests,
       coalesce(get_ns, empty_ns, any_ns) as cell_answer_ns,
       case when direction = 'up' then coalesce(min(empty_ns) over path, min(any_ns) over path)
           else coalesce(min(get_ns) over path, min(any_ns) over path) end as answer_ns,
       direction = 'down' or sum(empty_requests) over path > 0 as is_of_empty_request
from least_of
window path as (partition by direction, node)
order by cell
