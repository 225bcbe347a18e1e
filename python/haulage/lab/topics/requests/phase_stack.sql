-- title: Phases of a request, by treatment and size
-- question: What does one request spend its time on?
-- method: Medians over attempts that ended well, as the engine stamped them. On the way up, wait holds the time in which the kernel still sends; the ledger separates it.
-- tables: cells, attempts
select
    c.direction, c.treatment, c.size_bytes, a.api,
    count(*) as n,
    median(a.slot_ns::bigint - a.queued_ns::bigint) as queue_ns,
    median(coalesce(a.ready_ns, a.slot_ns)::bigint - a.slot_ns::bigint) as ready_ns,
    median(a.connected_ns::bigint - coalesce(a.ready_ns, a.slot_ns)::bigint) as connect_ns,
    median(a.sent_ns::bigint - a.connected_ns::bigint) as send_ns,
    median(a.first_byte_ns::bigint - a.sent_ns::bigint) as wait_ns,
    median(a.last_byte_ns::bigint - a.first_byte_ns::bigint) as receive_ns,
    median(coalesce(a.committed_ns, a.last_byte_ns)::bigint - a.last_byte_ns::bigint) as commit_ns,
    median(a.ended_ns::bigint - a.slot_ns::bigint) as whole_ns
from 'attempts.parquet' a
join 'cells.parquet' c using (cell)
where not c.warmup and a.fate = 'ok'
group by all
order by c.direction, c.size_bytes, c.treatment, a.api
