-- title: Improvement by file size and block size
-- question: Which block size is best for which file size?
-- method: Median over the replicates of the rate in blocks over the rate of the baseline, both of one replicate; and of the share of the duration that is saved. As the charts of 2010 have it. Mean and standard deviation of the same ratios stand beside the median, because 2010 gave means.
-- tables: cells
-- methods: blocks, put-blocks, adaptive
-- after: paired
select
    direction, size_bytes, block_size_bytes, concurrency, method, treatment,
    count(*) as n,
    median(ratio) as times_as_fast,
    avg(ratio) as mean_times_as_fast,
    stddev_samp(ratio) as sd_times_as_fast,
    min(ratio) as least_times_as_fast,
    max(ratio) as most_times_as_fast,
    median(shorter_by) as duration_saved_share,
    median(rate_bits_per_second) as rate_bits_per_second,
    avg(rate_bits_per_second) as mean_bits_per_second,
    stddev_samp(rate_bits_per_second) as sd_bits_per_second,
    median(baseline_bits_per_second) as baseline_bits_per_second
from paired
where method in ('blocks', 'put-blocks', 'adaptive', 'single-put') and not is_again
group by all
order by direction, size_bytes, block_size_bytes nulls last, concurrency, treatment
