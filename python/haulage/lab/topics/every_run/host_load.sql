-- title: The machine while each cell ran
-- question: Was the machine itself the limit, and do the NIC's counters agree?
-- method: Means of the samples (ten a second) that fall into the cell. Bytes are the sums of what the counters rose by; a link within this machine is counted on the loopback.
-- tables: cells, host
select
    c.cell, c.treatment, c.direction, c.size_bytes, c.replicate,
    count(*) as samples,
    avg(h.cpu_user_share) as cpu_user_share,
    avg(h.cpu_system_share) as cpu_system_share,
    avg(h.cpu_idle_share) as cpu_idle_share,
    avg(h.cpu_steal_share) as cpu_steal_share,
    avg(h.process_cpu_share) as process_cpu_share,
    min(h.memory_available_bytes) as memory_available_bytes,
    sum(h.nic_rx_bytes)::bigint as nic_rx_bytes,
    sum(h.nic_tx_bytes)::bigint as nic_tx_bytes,
    sum(h.disk_read_bytes)::bigint as disk_read_bytes,
    sum(h.disk_write_bytes)::bigint as disk_write_bytes,
    any_value(c.wire_bytes) as wire_bytes
from 'host.parquet' h
join 'cells.parquet' c on h.unix_ns between c.began_unix_ns and c.ended_unix_ns
where not c.warmup
group by all
order by c.cell
