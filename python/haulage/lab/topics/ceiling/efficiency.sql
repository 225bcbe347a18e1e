-- title: Share of the ceiling
-- question: How much of what this path can carry did each treatment use?
-- method: Goodput over the ceiling that the same run measured on the same path, without disks and with many connections; bounds from the interval of the ceiling. More than 100 % beyond the bounds is an error of that measurement.
-- tables: cells
with ceiling as (
    select ceiling.up_bits_per_second as up, ceiling.down_bits_per_second as down,
           coalesce(ceiling.up_low_bits_per_second, ceiling.up_bits_per_second) as up_low,
           coalesce(ceiling.up_high_bits_per_second, ceiling.up_bits_per_second) as up_high,
           coalesce(ceiling.down_low_bits_per_second, ceiling.down_bits_per_second) as down_low,
           coalesce(ceiling.down_high_bits_per_second, ceiling.down_bits_per_second) as down_high
    from read_json('manifest.json',
        columns = {ceiling: 'STRUCT(up_bits_per_second DOUBLE, down_bits_per_second DOUBLE, up_low_bits_per_second DOUBLE, up_high_bits_per_second DOUBLE, down_low_bits_per_second DOUBLE, down_high_bits_per_second DOUBLE)'},
        maximum_object_size = 67108864)
),
found as (
    select direction, size_bytes, files, treatment, replicate, cell,
           8e9 * bytes / nullif(wall_ns, 0) as rate_bits_per_second,
           case direction when 'up' then ceiling.up else ceiling.down end as ceiling_bits_per_second,
           case direction when 'up' then ceiling.up_low else ceiling.down_low end as ceiling_low_bits_per_second,
           case direction when 'up' then ceiling.up_high else ceiling.down_high end as ceiling_high_bits_per_second
    from 'cells.parquet', ceiling
    where not warmup and outcome = 'ok' and method not in ('ceiling', 'local-disk')
)
select *, rate_bits_per_second / ceiling_bits_per_second as efficiency_share,
       rate_bits_per_second / ceiling_high_bits_per_second as efficiency_low_share,
       rate_bits_per_second / ceiling_low_bits_per_second as efficiency_high_share
from found
where ceiling_bits_per_second > 0
order by direction, size_bytes, files, treatment, replicate, cell
