-- title: Time of a write, by method and size
-- question: Up to which size is one request quicker than blocks and a commit?
-- method: Duration of each file, median over the files of a cell, so that one row is one cell of one replicate.
-- tables: cells, transfers
select
    c.direction, c.treatment, c.method, t.size_bytes, c.replicate, c.cell,
    count(*) as n,
    median(t.duration_ns) as duration_ns
from 'transfers.parquet' t
join 'cells.parquet' c using (cell)
where not c.warmup and t.outcome in ('ok', 'copied')
group by all
order by c.direction, t.size_bytes, c.treatment, c.replicate, c.cell
