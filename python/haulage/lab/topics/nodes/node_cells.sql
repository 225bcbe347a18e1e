-- title: Cells by node
-- question: What does a larger node give, and which way to move is best on each?
-- method: One row a cell that ended well on a node, warm-ups and the A/A arm left out. Nodes are counted in the order of the plan, small to large. The network's part is what the arm timed until the last piece was there; beside it the wall time of the baseline in the same replicate on the same node.
-- tables: cells
with
nodes as (
    select unnest(factors.node) as node, generate_subscripts(factors.node, 1) as node_number
    from read_json('manifest.json', columns = {factors: 'STRUCT(node VARCHAR[])'})
),
well as (
    select *, factors->>'node' as node, factors->>'arm' as arm, (factors->>'again')::boolean as is_again
    from 'cells.parquet'
    where not warmup and outcome = 'ok' and wall_ns > 0 and factors->>'node' is not null
        and method not in ('ceiling', 'table-rows')
        and factors->>'node_count' is null
)
select
    w.direction, w.size_bytes, w.files, n.node_number, w.node, w.arm, w.method, w.treatment, w.replicate, w.cell,
    8e9 * w.bytes / w.wall_ns as rate_bits_per_second,
    w.wall_ns, w.phase_network_ns, w.phase_reassembly_ns,
    b.wall_ns as baseline_wall_ns,
    b.wall_ns / w.wall_ns as times_as_fast,
    w.phase_network_ns / b.wall_ns as network_alone_over_baseline
from well w
join nodes n using (node)
left join well b on b.method = 'baseline' and not b.is_again and b.direction = w.direction and b.node = w.node
    and b.replicate = w.replicate and b.size_bytes is not distinct from w.size_bytes and b.files = w.files
where not w.is_again
order by w.direction, w.size_bytes, w.files, n.node_number, w.arm, w.replicate
