-- One script for real Hudi and for us. Each statement stands under its name and is run for every table version:
-- vN_ in a table's name becomes v6_, v8_ or v9_. 'case@2' is the moment at which the second write to that table was
-- complete (in version 6: its instant), 'case@2+' the millisecond after it, 'case@2=' its instant in every version.
-- Rows are compared in any order, but where the name ends in "in order".

-- name: all columns of a copy-on-write table
SELECT * FROM vN_cow_nonpart;
-- name: count
SELECT count(*) FROM vN_cow_part_mdt;
-- name: meta columns
SELECT _hoodie_commit_time, _hoodie_record_key, _hoodie_partition_path, _hoodie_file_name FROM vN_cow_part_mdt;
-- name: projection and data filter
SELECT order_id, amount FROM vN_cow_nonpart WHERE qty > 3 AND amount < 400;
-- name: nulls in a filter
SELECT order_id FROM vN_cow_nonpart WHERE customer IS NULL OR customer <> 'bob';
-- name: null-safe equality and coalesce
SELECT order_id, coalesce(customer, 'nobody') c, customer <=> NULL n FROM vN_cow_nonpart;
-- name: partition filter
SELECT visit_id, page FROM vN_cow_part_mdt WHERE city = 'oslo';
-- name: partition IN and data filter
SELECT visit_id, city FROM vN_cow_part_mdt WHERE city IN ('oslo', 'bern', 'nowhere') AND dwell > 10;
-- name: partition that was deleted
SELECT count(*) FROM vN_cow_part_mdt WHERE city = 'rome';
-- name: function of a partition column
SELECT visit_id FROM vN_cow_part_mdt WHERE upper(substr(city, 1, 1)) = 'O';
-- name: partition or data column
SELECT visit_id, city FROM vN_cow_part_mdt WHERE city = 'oslo' OR dwell > 60;
-- name: timestamp filter
SELECT visit_id, seen_at FROM vN_cow_part_mdt WHERE seen_at >= TIMESTAMP '2024-03-03 08:45:00';
-- name: timestamp parts
SELECT visit_id, hour(seen_at) h, date_trunc('minute', seen_at) m, unix_micros(seen_at) u FROM vN_cow_part_mdt;
-- name: three partition columns
SELECT id, reading, year, month, day FROM vN_cow_ymd_hive WHERE year = 2024 AND month <> '01';
-- name: partition columns alone
SELECT DISTINCT year, month FROM vN_cow_ymd_hive;
-- name: greatest partition
SELECT max(struct(year, month, day)) FROM vN_cow_ymd_hive;
-- name: slashes in a partition value
SELECT id, dt FROM vN_cow_slash_day WHERE dt >= '2024/02/01';
-- name: timestamp key generator
SELECT event_id, event_ms FROM vN_cow_tskey_hive;
-- name: custom key generator
SELECT id, region, at FROM vN_cow_custom_keygen WHERE region = 'us';
-- name: virtual keys
SELECT id, v, ts, p FROM vN_cow_virtual_keys;
-- name: ORC base files
SELECT * FROM vN_cow_orc;
-- name: timestamps in milliseconds
SELECT id, at, day, v FROM vN_cow_ts_millis WHERE at > TIMESTAMP '2030-01-01 00:00:00';
-- name: date filter
SELECT id, day FROM vN_cow_ts_millis WHERE day BETWEEN DATE '2002-01-01' AND DATE '2005-12-31';
-- name: date arithmetic
SELECT id, date_add(day, 30) a, datediff(day, DATE '2000-01-01') d, month(day) m FROM vN_cow_ts_millis;
-- name: many small partitions
SELECT count(*), sum(v), max(p) FROM vN_cow_wide_250 WHERE p LIKE 'p0%';
-- name: archived table
SELECT * FROM vN_cow_archived;
-- name: files of a failed commit
SELECT * FROM vN_cow_crash_leftover;
-- name: failed commit with a metadata table
SELECT * FROM vN_cow_crash_mdt;

-- name: scalar types
SELECT id, b, i, f, d, dec, small, s, bin, day, at, ts, grp FROM vN_cow_types;
-- name: nested types
SELECT id, arr, m, st, aos, mos FROM vN_cow_types;
-- name: nested types of a merge-on-read table
SELECT * FROM vN_mor_types;
-- name: fields of nested types
SELECT id, st.x, st.y.z, get(arr, 0) e, m['k1'] k, aos.k ks, mos['one'].q q FROM vN_mor_types;
-- name: filter of a nested field
SELECT id FROM vN_mor_types WHERE st.y.z = 'z1' AND size(arr) > 0;
-- name: explode
SELECT id, e FROM vN_mor_types LATERAL VIEW explode(arr) x AS e;
-- name: explode a map
SELECT id, k, v FROM vN_cow_types LATERAL VIEW explode(m) x AS k, v WHERE v > 0;
-- name: array functions
SELECT id, transform(arr, x -> x * 2) t, filter(aos, x -> x.v IS NOT NULL) f, map_keys(m) k FROM vN_mor_types;
-- name: decimal filter
SELECT id, dec, small FROM vN_cow_types WHERE dec > 1000000000000.5 AND small IN (542.40, -545.74);
-- name: decimal arithmetic
SELECT sum(dec) s, avg(small) a, max(dec) x, sum(small * 2) d FROM vN_mor_types;
-- name: float and double edges
SELECT id, f, d, isnan(d) n, d = 0.1 e FROM vN_mor_types;
-- name: boolean filter
SELECT id FROM vN_mor_types WHERE NOT b;
-- name: binary
SELECT id, hex(bin) h, length(bin) l FROM vN_mor_types WHERE bin IS NOT NULL;
-- name: text beyond ASCII
SELECT id, s, upper(s) u, length(s) l FROM vN_mor_types WHERE s LIKE 'na%ve' OR s = '';
-- name: encoded partition value
SELECT id, grp FROM vN_mor_types WHERE grp IN ('x:y', 'p/q', '100%');
-- name: grouped by encoded partition values
SELECT grp, count(*), count(st.x), min(at) FROM vN_cow_types GROUP BY grp;

-- name: evolved copy-on-write table
SELECT * FROM vN_cow_schema_evo;
-- name: evolved merge-on-read table
SELECT * FROM vN_mor_schema_evo;
-- name: promoted and nested columns of an evolved table
SELECT id, cnt + 1 c, ratio, info.bee, info.c, full_name FROM vN_mor_schema_evo WHERE cnt > 11;

-- name: merge-on-read
SELECT * FROM vN_mor_part_rli;
-- name: merge-on-read as _rt
SELECT * FROM vN_mor_part_rli_rt;
-- name: merge-on-read as _ro
SELECT * FROM vN_mor_part_rli_ro;
-- name: merge-on-read, partition and data filter
SELECT ride_id, fare FROM vN_mor_part_rli WHERE region = 'north' AND fare > 100;
-- name: merge-on-read, decimal filter
SELECT ride_id, driver, fare FROM vN_mor_part_rli_rt WHERE fare BETWEEN 100.00 AND 500.00;
-- name: merge-on-read, filter that only old values match
SELECT r.ride_id, o.fare - r.fare d FROM vN_mor_part_rli_rt r JOIN vN_mor_part_rli_ro o USING (ride_id)
WHERE r.fare <> o.fare;
-- name: merge-on-read, count
SELECT count(*), count(DISTINCT driver), sum(stops) FROM vN_mor_part_rli;
-- name: event-time ordering and deletes
SELECT * FROM vN_mor_event_time;
-- name: event-time ordering, base files
SELECT * FROM vN_mor_event_time_ro;
-- name: commit-time ordering
SELECT * FROM vN_mor_commit_time;
-- name: rolled back commit
SELECT * FROM vN_mor_rollback;
-- name: parquet log blocks, clustering, savepoint
SELECT * FROM vN_mor_parquet_log_rollback;
-- name: bucket index, logs alone
SELECT * FROM vN_mor_bucket WHERE k2 % 2 = 0;
-- name: log compaction
SELECT * FROM vN_mor_log_compaction;
-- name: failed delta commit
SELECT * FROM vN_mor_crash_mdt;
-- name: table without a commit
SELECT * FROM vN_mor_empty;
-- name: table without a commit, count
SELECT count(*), max(ts) FROM vN_mor_empty;

-- name: time travel to an instant
SELECT * FROM vN_cow_nonpart TIMESTAMP AS OF 'cow_nonpart@1=';
-- name: time travel, count of each state
SELECT (SELECT count(*) FROM vN_cow_cdc TIMESTAMP AS OF 'cow_cdc@1=') a,
       (SELECT count(*) FROM vN_cow_cdc TIMESTAMP AS OF 'cow_cdc@3=') b, (SELECT count(*) FROM vN_cow_cdc) c;
-- name: time travel in a merge-on-read table
SELECT * FROM vN_mor_event_time TIMESTAMP AS OF 'mor_event_time@2=';
-- name: time travel past a compaction
SELECT dev, temp, note FROM vN_mor_event_time_rt TIMESTAMP AS OF 'mor_event_time@5=';
-- name: time travel between two commits
SELECT count(*), max(ts) FROM vN_mor_part_rli TIMESTAMP AS OF 'mor_part_rli@2+';
-- name: time travel joined with now
SELECT n.dev, n.temp, o.temp old FROM vN_mor_event_time n
LEFT JOIN (SELECT * FROM vN_mor_event_time TIMESTAMP AS OF 'mor_event_time@1=') o ON n.dev = o.dev;
-- name: time travel in an evolved table
SELECT * FROM vN_cow_schema_evo TIMESTAMP AS OF 'cow_schema_evo@1=';
-- name: time travel to the future
SELECT count(*) FROM vN_cow_nonpart TIMESTAMP AS OF '2099-01-01';
-- name: time travel by version
SELECT count(*) FROM vN_cow_nonpart VERSION AS OF 'cow_nonpart@1=';

-- name: changes since a commit
SELECT * FROM hudi_table_changes('vN_cow_nonpart', 'latest_state', 'cow_nonpart@1+');
-- name: changes from an exact commit
SELECT count(*) FROM hudi_table_changes('vN_cow_nonpart', 'latest_state', 'cow_nonpart@1');
-- name: changes between commits
SELECT order_id, qty FROM hudi_table_changes('vN_cow_nonpart', 'latest_state', 'cow_nonpart@1+', 'cow_nonpart@2');
-- name: changes from the earliest
SELECT count(*) FROM hudi_table_changes('vN_cow_cdc', 'latest_state', 'earliest');
-- name: changes in a merge-on-read table
SELECT * FROM hudi_table_changes('vN_mor_part_rli', 'latest_state', 'mor_part_rli@2+');
-- name: changes in one partition
SELECT ride_id, fare FROM hudi_table_changes('vN_mor_part_rli', 'latest_state', 'mor_part_rli@1+')
WHERE region = 'south';
-- name: changes in an event-time table
SELECT * FROM hudi_table_changes('vN_mor_event_time', 'latest_state', 'mor_event_time@3+', 'mor_event_time@6');
-- name: no changes
SELECT count(*) FROM hudi_table_changes('vN_cow_nonpart', 'latest_state', 'cow_nonpart@3+');
-- name: changes joined with the table
SELECT c.ride_id, t.fare FROM hudi_table_changes('vN_mor_part_rli', 'latest_state', 'mor_part_rli@2+') c
JOIN vN_mor_part_rli t ON c.ride_id = t.ride_id;
-- name: change data
SELECT op, ts_ms, get_json_object(before, '$.balance') b, get_json_object(after, '$.balance') a,
       coalesce(get_json_object(after, '$.acct'), get_json_object(before, '$.acct')) k
FROM hudi_table_changes('vN_cow_cdc', 'cdc', 'cow_cdc@1+');
-- name: change data between commits
SELECT op, count(*) FROM hudi_table_changes('vN_cow_cdc', 'cdc', 'cow_cdc@1+', 'cow_cdc@3') GROUP BY op;
-- name: change data between commits, each
SELECT op FROM hudi_table_changes('vN_cow_cdc', 'cdc', 'cow_cdc@1+', 'cow_cdc@3');
-- name: change data of a key-only log
SELECT op, coalesce(get_json_object(after, '$.acct'), get_json_object(before, '$.acct')) k
FROM hudi_table_changes('vN_cow_cdc_key_only', 'cdc', 'cow_cdc_key_only@1+');

-- name: table function, snapshot
SELECT ride_id, fare FROM hudi_query('vN_mor_part_rli', 'snapshot') WHERE region = 'south';
-- name: table function, read optimised
SELECT ride_id, fare FROM hudi_query('vN_mor_part_rli', 'read_optimized') WHERE region = 'south';
-- name: table function, timeline
SELECT Timestamp, Action, State FROM hudi_query_timeline('vN_mor_part_rli', 'false');
-- name: table function, file slices
SELECT File_ID, Partition_Path, Base_Instant_Time, Base_File_Size, Log_File_Count, Log_File_Size
FROM hudi_filesystem_view('vN_mor_part_rli', '*') WHERE Partition_Path <> 'west';
-- name: table function, metadata table
SELECT type, count(*) FROM hudi_metadata('vN_cow_part_mdt') GROUP BY type;

-- name: self-join with different filters
SELECT a.order_id, b.order_id o FROM vN_cow_nonpart a JOIN vN_cow_nonpart b ON a.customer = b.customer
WHERE a.qty > 5 AND b.qty < 3;
-- name: union of different partitions
SELECT ride_id, region FROM vN_mor_part_rli WHERE region = 'north'
UNION ALL SELECT ride_id, region FROM vN_mor_part_rli WHERE region = 'south' AND fare > 500;
-- name: outer join of two kinds of table
SELECT c.id, c.v, m.v w FROM vN_cow_crash_mdt c FULL OUTER JOIN vN_mor_rollback m ON c.id = m.id AND m.p = 'x';
-- name: semi join
SELECT order_id FROM vN_cow_nonpart o WHERE EXISTS
(SELECT 1 FROM vN_cow_nonpart i WHERE i.customer = o.customer AND i.amount > o.amount + 300);
-- name: anti join
SELECT id, s FROM vN_cow_types WHERE id NOT IN (SELECT id FROM vN_mor_rollback);
-- name: common table expression
WITH best AS (SELECT region, max(fare) f FROM vN_mor_part_rli GROUP BY region)
SELECT t.ride_id, t.region FROM vN_mor_part_rli t JOIN best ON t.region = best.region AND t.fare = best.f;
-- name: scalar subquery
SELECT order_id, amount FROM vN_cow_nonpart WHERE amount > (SELECT avg(amount) FROM vN_cow_nonpart);
-- name: set operations
(SELECT id FROM vN_cow_crash_leftover UNION SELECT id FROM vN_mor_rollback)
EXCEPT SELECT id FROM vN_mor_crash_mdt WHERE p = 'x';
-- name: intersection
SELECT dev FROM vN_mor_event_time INTERSECT SELECT dev FROM vN_mor_commit_time;
-- name: grouped and filtered by the aggregate
SELECT customer, count(*) n, round(sum(amount), 2) s, min(qty) q FROM vN_cow_nonpart GROUP BY customer
HAVING count(*) > 1;
-- name: filtered and conditional aggregates
SELECT count(*) FILTER (WHERE stops > 2) a, sum(CASE WHEN fare > 500 THEN 1 ELSE 0 END) b,
       collect_set(region) = array() c FROM vN_mor_part_rli;
-- name: rollup
SELECT region, driver, count(*) n, sum(fare) s FROM vN_mor_part_rli GROUP BY ROLLUP (region, driver);
-- name: grouping sets
SELECT year, month, grouping_id() g, count(*) n FROM vN_cow_ymd_hive GROUP BY GROUPING SETS ((year), (month), ());
-- name: pivot
SELECT * FROM (SELECT driver, region, stops FROM vN_mor_part_rli)
PIVOT (sum(stops) FOR region IN ('north' n, 'south' s, 'west' w));
-- name: row number and running sum
SELECT ride_id, row_number() OVER (PARTITION BY region ORDER BY fare DESC, ride_id) n,
       sum(fare) OVER (PARTITION BY region ORDER BY ride_id ROWS UNBOUNDED PRECEDING) s FROM vN_mor_part_rli;
-- name: lag and rank
SELECT id, year, lag(id) OVER (ORDER BY id) l, dense_rank() OVER (ORDER BY year, month) r FROM vN_cow_ymd_hive;
-- name: top rows in order
SELECT ride_id, fare FROM vN_mor_part_rli ORDER BY fare DESC NULLS LAST, ride_id LIMIT 5;
-- name: nulls first in order
SELECT customer, order_id FROM vN_cow_nonpart ORDER BY customer NULLS FIRST, order_id;
-- name: offset in order
SELECT id FROM vN_cow_wide_250 ORDER BY id LIMIT 7 OFFSET 100;
-- name: constants from a table
SELECT 1 one, 'x' x FROM vN_mor_bucket;
-- name: text and regular expressions
SELECT ride_id, concat_ws('-', region, driver) c, regexp_extract(ride_id, '([0-9]+)', 1) n FROM vN_mor_part_rli
WHERE driver RLIKE '^d[1-3]$';
-- name: casts
SELECT cast(fare AS INT) a, cast(stops AS STRING) b, cast(ts AS TIMESTAMP) c, cast(fare AS DOUBLE) d
FROM vN_mor_part_rli;
-- name: columns by other case
SELECT RIDE_ID, Fare FROM vN_MOR_PART_RLI WHERE REGION = 'west';
-- name: join of all three sorts of read
SELECT n.ride_id FROM vN_mor_part_rli n JOIN vN_mor_part_rli_ro o ON n.ride_id = o.ride_id
JOIN hudi_table_changes('vN_mor_part_rli', 'latest_state', 'mor_part_rli@1+') c ON c.ride_id = n.ride_id;
