-- title: Slowest requests
-- question: Which requests took longest?
-- method: From the slot to the end, refused and failed ones too; the ten longest.
-- tables: cells, attempts
select object, api, offset_bytes, size_bytes, attempt, lane, fate, status, request_id, slot_ns, ended_ns - slot_ns as took_ns
from 'attempts.parquet'
where cell = 0
order by took_ns desc, slot_ns, lane
limit 10
