-- title: Network and reassembly, by treatment and size
-- question: How much of a download in pieces is the network, and how much is putting the pieces together?
-- method: As the arm itself timed it: network is the time until the last range was there, reassembly the time after which they were one file. Medians over cells that ended well.
-- tables: cells
-- methods: ranges, stream
select
    direction, size_bytes, files, treatment, method, factors->>'node' as node,
    count(*) as n,
    median(wall_ns) as wall_ns,
    median(phase_network_ns) as network_ns,
    median(phase_reassembly_ns) as reassembly_ns,
    median(phase_reassembly_ns / nullif(wall_ns, 0)) as reassembly_share
from 'cells.parquet'
where not warmup and outcome = 'ok' and phase_network_ns is not null
group by all
order by direction, size_bytes, files, node, method, treatment
