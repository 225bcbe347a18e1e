-- title: Each treatment against the baseline of its own replicate
-- question: How much faster, replicate by replicate?
-- method: Cells of one replicate, direction, size and node are pairs, because they were measured close together. The A/A arm (the baseline's second time) is a treatment like the others. Without a baseline the first treatment by name stands for it.
-- tables: cells
with
ok as (
    select *, coalesce(factors->>'node', '') as node, 8e9 * bytes / wall_ns as rate,
           replace(treatment, '-again', '') as twin
    from 'cells.parquet'
    where not warmup and outcome = 'ok' and wall_ns > 0 and bytes > 0 and method not in ('ceiling', 'local-disk')
),
-- The arm that an A/A arm repeats, else the baseline, else the first by name.
chosen as (
    select direction, node,
           arg_min(treatment, case when is_again then 0 when method = 'baseline' then 1 else 2 end || treatment) as baseline
    from (
        select direction, node, method, treatment,
               treatment in (select o.twin from ok o where o.treatment <> o.twin) as is_again
        from ok
        where treatment not like '%-again%'
    )
    group by direction, node
)
select
    b.direction, b.node, b.size_bytes, b.files, b.method, b.treatment, b.block_size_bytes, b.concurrency,
    b.replicate, a.treatment as baseline,
    b.treatment <> b.twin as is_again,
    a.cell as baseline_cell, b.cell,
    a.rate as baseline_bits_per_second,
    b.rate as rate_bits_per_second,
    b.rate / a.rate as ratio,
    ln(b.rate / a.rate) as log_ratio,
    1 - b.wall_ns / a.wall_ns as shorter_by
from ok b
join chosen k on k.direction = b.direction and k.node = b.node
join ok a on a.treatment = k.baseline and a.direction = b.direction and a.node = b.node
    and a.replicate = b.replicate and a.size_bytes is not distinct from b.size_bytes and a.files = b.files
where b.treatment <> a.treatment
order by b.direction, b.node, b.size_bytes, b.files, b.method, b.block_size_bytes, b.concurrency, b.treatment, b.replicate
