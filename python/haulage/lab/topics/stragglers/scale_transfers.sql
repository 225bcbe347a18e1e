-- title: Transfers by node
-- question: When did each node move each file, and how long did it take?
-- method: Begin and end of every file in nanoseconds from the agreed moment, on the clock of the cell; the duration is the one less the other. The transfers of a node stand together in the order of the nodes.
-- tables: cells, transfers, nodes
select
    c.direction, t.size_bytes, c.factors->>'node' as node_size, c.factors->>'arm' as arm,
    (c.factors->>'node_count')::integer as node_count, (c.factors->>'again')::boolean as is_again, c.replicate,
    t.cell, n.node, n.name, t.transfer, t.object, t.began_ns, t.ended_ns, t.duration_ns, t.outcome, t.attempts,
    c.wall_ns
from 'transfers.parquet' t
join 'cells.parquet' c using (cell)
join 'nodes.parquet' n on n.cell = t.cell
    and t.transfer >= n.first_transfer and t.transfer < n.first_transfer + n.transfers
where not c.warmup
order by c.direction, node_count, c.replicate, t.cell, n.node, t.began_ns, t.transfer
