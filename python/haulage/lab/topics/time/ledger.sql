-- title: Lost-time ledger
-- question: Lanes times wall time: what did each nanosecond go into?
-- method: Every attempt is cut at its stamps, exactly. Way up: send is from the connection to the answer, less the
--   quickest answer of the path, because a kernel takes a block at once and sends it later; server wait is that
--   quickest answer. Commit is the answer to a block list, and to a PutBlob as far as it is not send. Throttled is
--   all of a request that was refused (503), and slots that stood empty while refused requests waited. Disk is
--   reading (up) or writing (down); hash is an estimate within it, 0.0172 ns a byte for CRC64 and 1.4 for MD5. Way
--   down: server wait ends with the first byte; writing is called ordering where pieces are put in order. Pacing is
--   send and receive where a cap was set and reached. An empty slot is "no work" before the first request and after
--   the last was begun, else idle. Lanes is the highest number in flight.
-- tables: cells, attempts
-- after: answers
with
cell as (
    select c.cell, c.treatment, c.direction, c.size_bytes, c.replicate, c.method, c.wall_ns::bigint as wall_ns,
           coalesce(w.answer_ns, 0)::bigint as answer_ns,
           case factors->>'checksum' when 'md5' then 1.4 when 'none' then 0 else 0.0172 end as hash_ns_per_byte,
           coalesce(8e9 * coalesce(c.wire_bytes, c.bytes) / nullif(c.wall_ns, 0)
               >= 0.9 * try_cast(factors->>'cap_bits_per_second' as double), false) as is_paced
    from 'cells.parquet' c
    left join answers w using (cell)
    where c.recorded and not c.warmup and c.wall_ns > 0
),
stamped as (
    select c.*, a.api, a.fate, a.size_bytes as bytes, a.attempt, a.connected_ns is null as is_local,
           a.api in ('PutBlob', 'PutBlock', 'PutObject', 'UploadPart') as is_upload,
           a.api in ('PutBlockList', 'CompleteMultipartUpload') as is_list,
           a.api in ('PutBlob', 'PutObject', 'PutBlockList', 'CompleteMultipartUpload') as commits,
           a.committed_ns is not null as is_done, least(coalesce(a.backoff_ns, 0), c.wall_ns)::bigint as backoff_ns,
           least(a.slot_ns, c.wall_ns)::bigint as t0, least(a.ended_ns, c.wall_ns)::bigint as t7, a.lane,
           a.ready_ns::bigint as ready, a.connected_ns::bigint as connected, a.sent_ns::bigint as sent,
           a.first_byte_ns::bigint as first_byte, a.last_byte_ns::bigint as last_byte,
           a.committed_ns::bigint as committed
    from 'attempts.parquet' a
    join cell c using (cell)
    where a.slot_ns is not null
),
-- Six cuts between slot and end. One that was not reached lies at the end where a later one was not reached
-- either (the phase was under way when the attempt failed), else at the cut before it.
cut1 as (select *, greatest(t0, least(t7, case when ready is not null then ready
    when coalesce(connected, sent, first_byte) is not null then t0 else t7 end)) as t1 from stamped),
cut2 as (select *, greatest(t1, least(t7, case when connected is not null then connected
    when coalesce(sent, first_byte) is not null then t1 else t7 end)) as t2 from cut1),
cut3 as (select *, greatest(t2, least(t7, case when sent is not null then sent
    when first_byte is not null then t2 else t7 end)) as t3 from cut2),
cut4 as (select *, greatest(t3, least(t7, coalesce(first_byte, t7))) as t4 from cut3),
cut5 as (select *, greatest(t4, least(t7, coalesce(last_byte, t7))) as t5 from cut4),
cut6 as (select *, greatest(t5, least(t7, coalesce(committed, t7))) as t6 from cut5),
parts as (
    select *,
        case when is_local then 0 else least(t1 - t0, (bytes * hash_ns_per_byte)::bigint) end as hash_part,
        -- What the answer of an upload owes to the path; the rest of its wait is the body on its way.
        case when is_upload then least(t4 - t3, answer_ns) else t4 - t3 end as wait_part
    from cut6
),
spent as (
    select cell,
        sum(case when fate = 'busy' then t7 - t2 else 0 end) as throttled,
        sum(case when is_local and api = 'Digest' then t7 - t0 else hash_part end) as hash,
        sum(case when is_local then case when api in ('Digest', 'Commit') then 0 else t7 - t0 end
            else t1 - t0 - hash_part end) as disk,
        sum(case when is_local then 0 else t2 - t1 end) as connect,
        sum(case when is_local and api = 'Commit' then t7 - t0
            when is_local or fate = 'busy' then 0
            when is_list then t5 - t2
            when commits then wait_part else 0 end) as commit,
        sum(case when is_local or fate = 'busy' or is_list then 0
            else t3 - t2 + case when is_upload then t4 - t3 - wait_part else 0 end end) as send,
        sum(case when is_local or fate = 'busy' or commits then 0 else wait_part end) as wait,
        sum(case when is_local or fate = 'busy' or is_list then 0 else t5 - t4 end) as receive,
        -- From the last byte to the end: written to a file on the way down, a few microseconds on the way up.
        sum(case when is_local or fate = 'busy' or direction = 'up' then 0 else t6 - t5 end) as written,
        sum(case when is_local or fate = 'busy' then 0
            when direction = 'up' then t7 - t5 else t7 - t6 end) as own,
        sum(t7 - t0) as held,
        min(t0) as first_slot,
        max(t0) filter (attempt = 1) as last_slot
    from parts
    group by cell
),
-- Stretches in which at least one refused request waited to be sent again.
waits as (
    select cell, t7 as began, least(t7 + backoff_ns, wall_ns) as until_
    from stamped
    where fate = 'busy' and backoff_ns > 0 and t7 < wall_ns
),
marked as (
    select *, coalesce(began > max(until_) over (
        partition by cell order by began, until_ rows between unbounded preceding and 1 preceding), true) as is_new
    from waits
),
numbered as (
    select *, sum(is_new::integer) over (partition by cell order by began, until_ rows unbounded preceding) as island
    from marked
),
islands as (
    select cell, island, min(began) as began, max(until_) as until_,
           (sum(max(until_) - min(began)) over (partition by cell order by island)
               - (max(until_) - min(began)))::bigint as before_ns
    from numbered
    group by cell, island
),
-- How much of the time to a moment lay in such stretches: to each slot, each end, the last slot, the wall.
moments as (
    select cell, t0 as moment, 'slot' as kind from stamped where cell in (select cell from islands)
    union all select cell, t7, 'end' from stamped where cell in (select cell from islands)
    union all select cell, last_slot, 'last' from spent where cell in (select cell from islands)
    union all select cell, wall_ns, 'wall' from cell where cell in (select cell from islands)
),
refused as (
    select m.cell, m.kind, m.moment,
           case when i.cell is null then 0 else i.before_ns + least(m.moment, i.until_) - i.began end as in_wait
    from moments m
    asof left join islands i on m.cell = i.cell and m.moment >= i.began
),
refused_by_cell as (
    select r.cell,
        max(in_wait) filter (kind = 'wall') as of_wall,
        max(in_wait) filter (kind = 'last') as to_last,
        sum(in_wait) filter (kind = 'end') - sum(in_wait) filter (kind = 'slot') as held,
        -- The same after the last slot; what was in flight across it counts from there.
        sum(greatest(in_wait - last_wait, 0)) filter (kind = 'end')
            - sum(greatest(in_wait - last_wait, 0)) filter (kind = 'slot') as held_after
    from refused r
    join (select cell, in_wait as last_wait from refused where kind = 'last') l on l.cell = r.cell
    group by r.cell
),
lanes as (
    select s.cell, max(lane) + 1 as lanes,
           sum(greatest(t7 - last_slot, 0) - greatest(t0 - last_slot, 0)) as held_after
    from stamped s
    join spent p using (cell)
    group by s.cell
),
empty as (
    select c.cell, l.lanes,
        l.lanes * coalesce(r.of_wall, 0) - coalesce(r.held, 0) as throttled,
        l.lanes * p.first_slot
            + l.lanes * (c.wall_ns - p.last_slot - (coalesce(r.of_wall, 0) - coalesce(r.to_last, 0)))
            - (l.held_after - coalesce(r.held_after, 0)) as no_work,
        l.lanes * c.wall_ns - p.held as empty
    from cell c
    join spent p using (cell)
    join lanes l using (cell)
    left join refused_by_cell r using (cell)
),
books as (
    select c.*, e.lanes::bigint as lanes,
        case when is_paced then 0 else s.send end as send,
        s.wait, case when is_paced then 0 else s.receive end as receive,
        s.commit, s.connect,
        s.disk + case when method in ('ranges', 'stream') then 0 else s.written end as disk,
        s.hash,
        case when is_paced then s.send + s.receive else 0 end as pacing,
        s.throttled + e.throttled as throttled,
        case when method in ('ranges', 'stream') then s.written else 0 end as ordering,
        e.no_work, e.empty - e.throttled - e.no_work + s.own as idle
    from cell c
    join spent s using (cell)
    join empty e using (cell)
),
long as (
    unpivot (
        select cell, treatment, direction, size_bytes, replicate, lanes, wall_ns, send::hugeint as send,
            wait::hugeint as "server wait", receive::hugeint as receive, commit::hugeint as commit,
            connect::hugeint as connect, disk::hugeint as disk, hash::hugeint as hash, pacing::hugeint as pacing,
            throttled::hugeint as throttled, ordering::hugeint as ordering, no_work::hugeint as "no work",
            idle::hugeint as idle
        from books
    ) on columns(* exclude (cell, treatment, direction, size_bytes, replicate, lanes, wall_ns))
    into name category value spent_ns
)
select cell, treatment, direction, size_bytes, replicate, lanes, wall_ns, category,
       spent_ns::bigint as spent_ns,
       spent_ns / (lanes * wall_ns) as share
from long
order by cell, list_position(['send', 'server wait', 'receive', 'commit', 'connect', 'disk', 'hash', 'pacing',
    'throttled', 'ordering', 'no work', 'idle'], category)
