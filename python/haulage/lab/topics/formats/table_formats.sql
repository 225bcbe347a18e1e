-- title: Rows of a table, cell by cell
-- question: How long did all rows take, and how many bytes was that, by form, answer and way?
-- method: One row a cell that ended well. The payload is the bodies of all answers; of an export, what was on the wire.
--   One answer holds all rows where they were gathered, else a thousand. Cells of one replicate and place are pairs.
-- tables: cells
-- methods: table-rows
with
nodes as (
    select unnest(factors.node) as node, generate_subscripts(factors.node, 1) as node_number
    from read_json('manifest.json', columns = {factors: 'STRUCT(node VARCHAR[])'})
)
select
    coalesce(n.node_number, 0) as node_number,
    coalesce(n.node, '') as node,
    factors->>'format' as format,
    case when (factors->>'gathered')::boolean then 'gathered' else 'paged' end as answers,
    factors->>'way' as way,
    replicate,
    cell,
    wire_bytes as payload_bytes,
    requests,
    wall_ns
from 'cells.parquet' c
left join nodes n on n.node = c.factors->>'node'
where not warmup and outcome = 'ok' and method = 'table-rows' and not (factors->>'again')::boolean
order by node_number, format, answers, way, replicate
