-- both types

-- group: duplicate source rows with ordering (cow)
CREATE TABLE da (id INT, name STRING, v DOUBLE, ts BIGINT, dt STRING) USING hudi TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts') LOCATION '${folder}/da';;
INSERT INTO da VALUES (1, 'a', 1.0, 10, 'x');;
MERGE INTO da AS t USING (SELECT 2 AS id, 'n1' AS name, 5 AS v, 20L AS ts, 'x' AS dt UNION ALL SELECT 2, 'n2', 6, 30L, 'x') AS s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *;;
SELECT id, name, v, ts, dt FROM da;;
MERGE INTO da AS t USING (SELECT 1 AS id, 'u' AS name, 7 AS v, 40L AS ts, 'x' AS dt UNION ALL SELECT 5, 'p', 8, 40, 'x' UNION ALL SELECT 5, 'p', 8, 40, 'x') AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;;
SELECT id, name, v, ts, dt FROM da;;
MERGE INTO da AS t USING (SELECT 1 AS id, 'w1' AS name, 7 AS v, 50L AS ts, 'x' AS dt UNION ALL SELECT 1, 'w2', 8, 60, 'x') AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;;
SELECT id, name, v, ts, dt FROM da;;

-- group: duplicate source rows without ordering (mor)
CREATE TABLE db (id INT, name STRING, v DOUBLE, ts BIGINT, dt STRING) USING hudi PARTITIONED BY (dt) TBLPROPERTIES (primaryKey = 'id', type = 'mor') LOCATION '${folder}/db';;
MERGE INTO db AS t USING (SELECT 1 AS id, 'a1' AS name, 5 AS v, 20 AS ts, 'x' AS dt UNION ALL SELECT 1, 'a2', 6, 30, 'x') AS s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *;;
SELECT id, name, v, ts, dt FROM db;;

-- group: extra conditions beside the key (cow)
CREATE TABLE ea (id INT, name STRING, v DOUBLE, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts') LOCATION '${folder}/ea';;
CREATE TABLE eb (id INT, name STRING, v DOUBLE, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts') LOCATION '${folder}/eb';;
INSERT INTO ea VALUES (1, 'a', 5, 10), (2, 'b', 6, 20), (3, 'c', 6, 10);;
INSERT INTO eb VALUES (1, 'ua', 5, 99), (3, 'uc', 7, 999), (4, 'ud', 8, 9999);;
MERGE INTO ea AS o USING eb ON o.id = eb.id WHEN MATCHED AND o.v = eb.v THEN UPDATE SET o.name = eb.name;;
SELECT id, name, v, ts FROM ea;;
MERGE INTO ea AS o USING eb ON o.id = eb.id AND o.v = eb.v WHEN MATCHED THEN UPDATE SET o.name = eb.name WHEN NOT MATCHED THEN INSERT *;;
SELECT id, name, v, ts FROM ea;;

-- group: event time deletes (mor)
CREATE TABLE ga (id INT, name STRING, v DOUBLE, ts INT) USING hudi TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts', type = 'mor') LOCATION '${folder}/ga';;
INSERT INTO ga VALUES (0, 'z', 0, 50), (1, 'a', 1, 50), (2, 'b', 2, 50), (4, 'd', 4, 50), (5, 'e', 5, 50), (6, 'f', 6, 50);;
MERGE INTO ga t USING (SELECT 0 AS id, 'x' AS name, 9.0 AS v, 50 AS ts UNION ALL SELECT 1, 'x', 9.0, 51 UNION ALL SELECT 2, 'x', 9.0, 49) s ON t.id = s.id WHEN MATCHED THEN DELETE;;
SELECT id, name, v, ts FROM ga;;
MERGE INTO ga t USING (SELECT 4 AS id, 'x' AS name, 9.0 AS v, 51 AS ts UNION ALL SELECT 5, 'x', 9.0, 49 UNION ALL SELECT 6, 'x', 9.0, 50) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *;;
SELECT id, name, v, ts FROM ga;;
MERGE INTO ga t USING (SELECT 4 AS id, 'y' AS name, 9.0 AS v, 40 AS ts UNION ALL SELECT 5, 'x', 9.0, 60) s ON t.id = s.id WHEN MATCHED AND s.id = 4 THEN DELETE WHEN MATCHED THEN UPDATE SET *;;
SELECT id, name, v, ts FROM ga;;

-- group: event time deletes (cow)
CREATE TABLE gb (id INT, name STRING, v DOUBLE, ts INT) USING hudi TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts', type = 'cow') LOCATION '${folder}/gb';;
INSERT INTO gb VALUES (0, 'z', 0, 50), (1, 'a', 1, 50), (2, 'b', 2, 50), (4, 'd', 4, 50), (5, 'e', 5, 50), (6, 'f', 6, 50);;
MERGE INTO gb t USING (SELECT 0 AS id, 'x' AS name, 9.0 AS v, 50 AS ts UNION ALL SELECT 1, 'x', 9.0, 51 UNION ALL SELECT 2, 'x', 9.0, 49) s ON t.id = s.id WHEN MATCHED THEN DELETE;;
SELECT id, name, v, ts FROM gb;;
MERGE INTO gb t USING (SELECT 4 AS id, 'x' AS name, 9.0 AS v, 51 AS ts UNION ALL SELECT 5, 'x', 9.0, 49 UNION ALL SELECT 6, 'x', 9.0, 50) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *;;
SELECT id, name, v, ts FROM gb;;
UPDATE gb SET v = 77, ts = 10 WHERE id = 6;;
SELECT id, name, v, ts FROM gb;;
UPDATE gb SET v = 78 WHERE id = 6;;
SELECT id, name, v, ts FROM gb;;
DELETE FROM gb WHERE v > 8;;
SELECT id, name, v, ts FROM gb;;

-- group: merged by commit time (mor)
CREATE TABLE gc (id INT, name STRING, v DOUBLE, ts INT) USING hudi TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts', type = 'mor', hoodie.record.merge.mode = 'COMMIT_TIME_ORDERING') LOCATION '${folder}/gc';;
INSERT INTO gc VALUES (0, 'z', 0, 50), (1, 'a', 1, 50), (2, 'b', 2, 50), (4, 'd', 4, 50), (5, 'e', 5, 50), (6, 'f', 6, 50);;
MERGE INTO gc t USING (SELECT 0 AS id, 'x' AS name, 9.0 AS v, 50 AS ts UNION ALL SELECT 1, 'x', 9.0, 51 UNION ALL SELECT 2, 'x', 9.0, 49) s ON t.id = s.id WHEN MATCHED THEN DELETE;;
SELECT id, name, v, ts FROM gc;;
MERGE INTO gc t USING (SELECT 4 AS id, 'x' AS name, 9.0 AS v, 51 AS ts UNION ALL SELECT 5, 'x', 9.0, 49 UNION ALL SELECT 6, 'x', 9.0, 50) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *;;
SELECT id, name, v, ts FROM gc;;
UPDATE gc SET v = 77, ts = 10 WHERE id = 6;;
SELECT id, name, v, ts FROM gc;;

-- group: global index moves records (mor)
SET hoodie.index.type=GLOBAL_SIMPLE;;
SET hoodie.simple.index.update.partition.path=true;;
CREATE TABLE ha (id INT, version INT, what STRING, p STRING) USING hudi PARTITIONED BY (p) TBLPROPERTIES (primaryKey = 'id', type = 'mor', preCombineField = 'version') LOCATION '${folder}/ha';;
INSERT INTO ha VALUES (1, 1, 'i', 'd1'), (2, 1, 'i', 'd1'), (3, 1, 'i', 'd1'), (5, 1, 'i', 'd1'), (6, 1, 'i', 'd1');;
MERGE INTO ha t USING (SELECT 1 AS id, 2 AS version, 'yes' AS what, 'd2' AS p UNION ALL SELECT 2, 2, 'no', 'd2' UNION ALL SELECT 3, 2, 'yes', 'd1' UNION ALL SELECT 5, 2, 'delete', 'd2' UNION ALL SELECT 6, 2, 'delete', 'd1' UNION ALL SELECT 7, 1, 'i', 'd1') s ON t.id = s.id
WHEN MATCHED AND s.what = 'yes' THEN UPDATE SET * WHEN MATCHED AND s.what = 'delete' THEN DELETE WHEN NOT MATCHED THEN INSERT *;;
SELECT id, version, _hoodie_partition_path, p FROM ha;;

-- group: global index without moves (cow)
SET hoodie.index.type=GLOBAL_SIMPLE;;
SET hoodie.simple.index.update.partition.path=false;;
CREATE TABLE hb (id INT, version INT, what STRING, p STRING) USING hudi PARTITIONED BY (p) TBLPROPERTIES (primaryKey = 'id', type = 'cow', preCombineField = 'version') LOCATION '${folder}/hb';;
INSERT INTO hb VALUES (1, 1, 'i', 'd1'), (2, 1, 'i', 'd1'), (3, 1, 'i', 'd1'), (5, 1, 'i', 'd1'), (6, 1, 'i', 'd1');;
MERGE INTO hb t USING (SELECT 1 AS id, 2 AS version, 'yes' AS what, 'd2' AS p UNION ALL SELECT 2, 2, 'no', 'd2' UNION ALL SELECT 3, 2, 'yes', 'd1' UNION ALL SELECT 5, 2, 'delete', 'd2' UNION ALL SELECT 6, 2, 'delete', 'd1' UNION ALL SELECT 7, 1, 'i', 'd1') s ON t.id = s.id
WHEN MATCHED AND s.what = 'yes' THEN UPDATE SET * WHEN MATCHED AND s.what = 'delete' THEN DELETE WHEN NOT MATCHED THEN INSERT *;;
SELECT id, version, _hoodie_partition_path FROM hb;;

-- group: global bloom default moves (cow)
SET hoodie.index.type=GLOBAL_BLOOM;;
CREATE TABLE hc (id INT, version INT, name STRING, p STRING) USING hudi PARTITIONED BY (p) TBLPROPERTIES (primaryKey = 'id', type = 'cow') LOCATION '${folder}/hc';;
INSERT INTO hc VALUES (1, 1, 'i', 'd1'), (2, 1, 'i', 'd1');;
MERGE INTO hc t USING (SELECT 1 AS id, 2 AS version, 'yes' AS name, 'd2' AS p) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;;
SELECT id, version, name, p FROM hc;;

-- group: partition changes without a global index (cow)
CREATE TABLE hd (id INT, version INT, name STRING, p STRING) USING hudi PARTITIONED BY (p) TBLPROPERTIES (primaryKey = 'id', type = 'cow') LOCATION '${folder}/hd';;
INSERT INTO hd VALUES (1, 1, 'i', 'd1'), (2, 1, 'i', 'd1');;
MERGE INTO hd t USING (SELECT 1 AS id, 2 AS version, 'yes' AS name, 'd2' AS p) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;;
SELECT id, version, name, p FROM hd;;
MERGE INTO hd t USING (SELECT 2 AS id, 2 AS version, 'yes' AS name, 'd1' AS p) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET id = s.id, version = s.version, p = s.p;;
SELECT id, version, name, p FROM hd;;

-- group: missing assignments in inserts (cow)
CREATE TABLE ia (id INT, name STRING, v DOUBLE, ts INT) USING hudi TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts') LOCATION '${folder}/ia';;
INSERT INTO ia VALUES (1, 'a', 1, 1);;
MERGE INTO ia t USING (SELECT 2 AS id, 'b' AS name, 2 AS v, 2 AS ts) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (name, v, ts) VALUES (s.name, s.v, s.ts);;
MERGE INTO ia t USING (SELECT 3 AS id, 'b' AS name, 2 AS v, 2 AS ts) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, name, v) VALUES (s.id, s.name, s.v);;
MERGE INTO ia t USING (SELECT 4 AS id, 'b' AS name, 2 AS ts) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *;;
MERGE INTO ia t USING (SELECT 1 AS id, 'q' AS name, 2 AS ts) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *;;
MERGE INTO ia t USING (SELECT 1 AS id, 'r' AS name) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = s.name;;
MERGE INTO ia t USING (SELECT 1 AS id, 'x' AS name, 5 AS v, 9 AS ts, 'n' AS extra) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *;;
MERGE INTO ia t USING (SELECT 1 AS id, 'x' AS name, 5 AS v, 9 AS ts, 'n' AS extra) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET extra = s.extra;;
MERGE INTO ia t USING (SELECT 1 AS id, 'x' AS name, 5 AS v, 9 AS ts) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = s.nix;;
SELECT id, name, v, ts FROM ia;;
MERGE INTO ia t USING (SELECT 1, 'x', 5, 9) s (id, name, v, ts) ON t.id = s.id WHEN MATCHED THEN UPDATE SET *;;
SELECT id, name, v, ts FROM ia;;

-- group: keys cast in conditions (cow)
CREATE TABLE ja (id INT, name STRING, n INT, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts') LOCATION '${folder}/ja';;
INSERT INTO ja VALUES (1, 'a', 5, 10);;
MERGE INTO ja t USING (SELECT CAST(1 AS BIGINT) AS id, 11 AS ts) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET ts = s.ts;;
MERGE INTO ja t USING (SELECT CAST(1 AS SMALLINT) AS id, 12 AS ts) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET ts = s.ts;;
MERGE INTO ja t USING (SELECT CAST(1 AS INT) AS id, 13 AS ts) s ON CAST(t.id AS STRING) = CAST(s.id AS STRING) WHEN MATCHED THEN UPDATE SET ts = s.ts;;
SELECT id, name, n, ts FROM ja;;
MERGE INTO ja t USING (SELECT '1' AS id, 14 AS ts) s ON t.id = CAST(s.id AS INT) WHEN MATCHED THEN UPDATE SET ts = s.ts;;
MERGE INTO ja t USING (SELECT 0 AS id, 15 AS ts) s ON t.id = s.id + 1 WHEN MATCHED THEN UPDATE SET ts = s.ts;;
MERGE INTO ja t USING (SELECT 1 AS k, 16 AS ts) s ON s.k = t.id WHEN MATCHED THEN UPDATE SET ts = s.ts;;
SELECT id, name, n, ts FROM ja;;
MERGE INTO ja t USING (SELECT 1 AS id, '17' AS ts, '7' AS n, 5 AS name) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.ts = s.ts, n = s.n, name = s.name;;
SELECT id, name, n, ts FROM ja;;
MERGE INTO ja t USING (SELECT 1 AS id, 18 AS ts, 'bad' AS n) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.ts = s.ts, n = s.n;;
MERGE INTO ja t USING (SELECT 1 AS id, 18 AS ts, 99999999999 AS n) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.ts = s.ts, n = s.n;;
SELECT id, name, n, ts FROM ja;;
-- group: fields of structs (cow)
CREATE TABLE na (id INT, s STRUCT<a: INT, b: STRING, c: STRUCT<d: DOUBLE, e: INT>>, arr ARRAY<STRUCT<x: INT, y: INT>>, m MAP<STRING, INT>, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts') LOCATION '${folder}/na';;
INSERT INTO na VALUES (1, named_struct('a', 1, 'b', 'x', 'c', named_struct('d', 1.5, 'e', 7)), array(named_struct('x', 1, 'y', 2)), map('k', 1), 10), (2, NULL, NULL, NULL, 10);;
UPDATE na SET s.a = 5 WHERE id = 1;;
SELECT id, s, arr, m, ts FROM na;;
UPDATE na SET s.b = 'q', s.c.d = s.c.d + 1, ts = 11 WHERE id = 1;;
SELECT id, s, arr, m, ts FROM na;;
UPDATE na AS n SET n.s.c.e = 9 WHERE n.s.a = 5;;
UPDATE na SET s.a = 3 WHERE id = 2;;
SELECT id, s, arr, m, ts FROM na;;
UPDATE na SET s = named_struct('a', 8, 'b', 'w', 'c', named_struct('d', 2D, 'e', 2)), arr = array(named_struct('x', 3, 'y', 4)), m = map('z', 9) WHERE id = 2;;
SELECT id, s, arr, m, ts FROM na;;
UPDATE na SET s.nope = 3 WHERE id = 2;;
UPDATE na SET s.a = 3, s = NULL WHERE id = 2;;
MERGE INTO na t USING (SELECT 1 AS id, 77 AS a, 12L AS ts) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.s.a = s.a, ts = s.ts;;
SELECT id, s, arr, m, ts FROM na;;
MERGE INTO na t USING (SELECT 3 AS id, named_struct('a', 1, 'b', 'n', 'c', named_struct('d', 0D, 'e', 0)) AS s, array(named_struct('x', 5, 'y', 6)) AS arr, map('p', 1) AS m, 1L AS ts) s0 ON t.id = s0.id WHEN NOT MATCHED THEN INSERT *;;
SELECT id, s, arr, m, ts FROM na;;
SELECT id, s.c.d, arr[0].y, m['p'] FROM na WHERE s.c.e < 9;;
DELETE FROM na WHERE s.c.d = 0;;
SELECT id FROM na;;

-- group: tables without keys, all clauses (mor)
CREATE TABLE ka (id INT, name STRING, v DOUBLE, ts INT) USING hudi TBLPROPERTIES (type = 'mor', preCombineField = 'ts') LOCATION '${folder}/ka';;
INSERT INTO ka VALUES (1, 'a', 1, 10), (2, 'b', 2, 10), (3, 'c', 3, 10), (3, 'c', 3, 10);;
MERGE INTO ka t USING (SELECT 1 AS id, 'u' AS name, 5D AS v, 20 AS ts UNION ALL SELECT 2, 'd', 0D, 20 UNION ALL SELECT 9, 'n', 9D, 20) s ON t.id = s.id WHEN MATCHED AND s.name = 'd' THEN DELETE WHEN MATCHED THEN UPDATE SET name = s.name, v = t.v + s.v, ts = s.ts WHEN NOT MATCHED THEN INSERT *;;
SELECT id, name, v, ts FROM ka;;
MERGE INTO ka t USING (SELECT 3 AS id, 'z' AS name, 5D AS v, 30 AS ts) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *;;
SELECT id, name, v, ts FROM ka;;
MERGE INTO ka t USING (SELECT 4D AS lim, 'z' AS name, 99 AS id, 1D AS v, 40 AS ts) s ON t.v < s.lim AND t.id <> s.id WHEN MATCHED THEN UPDATE SET ts = s.ts WHEN NOT MATCHED THEN INSERT *;;
SELECT id, name, v, ts FROM ka;;
MERGE INTO ka t USING (SELECT 1 AS id, 'z' AS name, 5D AS v, 30 AS ts) s ON t.id = s.id WHEN MATCHED THEN DELETE;;
SELECT id, name, v, ts FROM ka;;
UPDATE ka SET v = v * 2 WHERE id = 3;;
DELETE FROM ka WHERE ts = 40;;
SELECT id, name, v, ts FROM ka;;

-- group: tables without keys, partitioned (cow)
CREATE TABLE kb (id INT, v DOUBLE, ts BIGINT, p STRING) USING hudi PARTITIONED BY (p) LOCATION '${folder}/kb';;
INSERT INTO kb VALUES (1, 1, 10, 'x'), (2, 2, 10, 'y'), (3, 3, 10, 'y');;
MERGE INTO kb t USING (SELECT 1 AS id, 5D AS v, 20L AS ts, 'x' AS p UNION ALL SELECT 2, 0D, 20L, 'y' UNION ALL SELECT 9, 9D, 20L, 'z') s ON t.id = s.id WHEN MATCHED AND s.v = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;;
SELECT id, v, ts, p FROM kb;;
UPDATE kb SET v = 7 WHERE p = 'y';;
UPDATE kb SET p = 'q' WHERE p = 'y';;
DELETE FROM kb WHERE p = 'x';;
SELECT id, v, ts, p FROM kb;;
DELETE FROM kb;;
SELECT count(*) FROM kb;;

-- group: several rows of the source for one row without keys (cow)
CREATE TABLE kc (id INT, name STRING, v DOUBLE, ts INT) USING hudi TBLPROPERTIES (preCombineField = 'ts') LOCATION '${folder}/kc';;
INSERT INTO kc VALUES (1, 'a', 10, 100);;
MERGE INTO kc USING (SELECT 1 AS id, 'a' AS name, 20 AS v, 200 AS ts UNION ALL SELECT 2, 'a', 30, 100) s ON kc.name = s.name WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *;;
SELECT id, name, v, ts FROM kc;;

-- group: partial updates in logs (mor)
CREATE TABLE pa (id INT, name STRING, v DOUBLE, _ts INT, note STRING) USING hudi TBLPROPERTIES (type = 'mor', primaryKey = 'id', preCombineField = '_ts') LOCATION '${folder}/pa';;
INSERT INTO pa VALUES (1, 'a', 10, 1000, 'da'), (2, 'b', 20, 1200, 'db'), (3, 'c', 30, 1250, 'dc');;
MERGE INTO pa t USING (SELECT 1 AS id, 'q' AS name, 12.0D AS v, 1001 AS _ts UNION SELECT 3, 'q', 25.0D, 1260) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v, _ts = s._ts;;
SELECT id, name, v, _ts, note FROM pa;;
MERGE INTO pa t USING (SELECT 1 AS id, 'n1' AS new_note, 1023 AS _ts UNION SELECT 2, 'n2', 1270) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET note = s.new_note, _ts = s._ts;;
SELECT id, name, v, _ts, note FROM pa;;
MERGE INTO pa t USING (SELECT 2 AS id, 'x' AS name, 18.0D AS v, 1275 AS _ts, 'i' AS note UNION SELECT 4, 'new', 70.0D, 1270, 'dn') s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v, _ts = s._ts WHEN NOT MATCHED THEN INSERT *;;
SELECT id, name, v, _ts, note FROM pa;;
MERGE INTO pa t USING (SELECT 3 AS id, 1.0D AS v, 5 AS _ts) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v, _ts = s._ts;;
SELECT id, name, v, _ts, note FROM pa;;
MERGE INTO pa t USING (SELECT 1 AS id, 9999 AS _ts UNION ALL SELECT 2, 9999) s ON t.id = s.id WHEN MATCHED AND t.id = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET _ts = s._ts;;
SELECT id, name, v, _ts, note FROM pa;;
UPDATE pa SET name = 'upd' WHERE id = 2;;
SELECT id, name, v, _ts, note FROM pa;;

-- group: casts of values (cow)
CREATE TABLE ca (id INT, n INT, d DOUBLE, b BIGINT, st STRING, dt DATE, t TIMESTAMP, dec DECIMAL(6, 2), ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts') LOCATION '${folder}/ca';;
INSERT INTO ca VALUES (1, 1, 1, 1, 'a', DATE'2024-01-01', TIMESTAMP'2024-01-01 00:00:00', 1.25, 10);;
MERGE INTO ca t USING (SELECT 1 AS id, '10.5' AS d, 11L AS ts) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET d = s.d, ts = s.ts;;
SELECT id, n, d, b, st, dt, t, dec, ts FROM ca;;
MERGE INTO ca t USING (SELECT 1 AS id, 7L AS n, 5 AS b, 42 AS st, '2024-02-03' AS dt, '2024-02-03 04:05:06' AS t, 3.456 AS dec, 12L AS ts) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = s.n, b = s.b, st = s.st, dt = s.dt, t = s.t, dec = s.dec, ts = s.ts;;
SELECT id, n, d, b, st, dt, t, dec, ts FROM ca;;
UPDATE ca SET d = '8.25', n = '12' WHERE id = 1;;
SELECT id, n, d FROM ca;;
UPDATE ca SET st = 5, b = 3, dec = 2 WHERE id = 1;;
SELECT id, st, b, dec FROM ca;;
UPDATE ca SET n = 'bad' WHERE id = 1;;
SELECT id, n FROM ca;;
UPDATE ca SET n = 99999999999 WHERE id = 1;;
SELECT id, n FROM ca;;
UPDATE ca SET dec = 123456.789 WHERE id = 1;;
SELECT id, dec FROM ca;;
UPDATE ca SET n = NULL, d = NULL WHERE id = 1;;
SELECT id, n, d FROM ca;;

-- group: subqueries and aliases (cow)
CREATE TABLE sa (id INT, name STRING, v DOUBLE, p INT) USING hudi PARTITIONED BY (p) TBLPROPERTIES (primaryKey = 'id') LOCATION '${folder}/sa';;
CREATE TABLE sb (k INT, v DOUBLE) USING parquet LOCATION '${folder}/sb';;
INSERT INTO sa VALUES (1, 'a', 1, 1), (2, 'b', 2, 1), (3, 'c', 3, 2), (4, 'd', 4, 2), (5, 'e', 5, 3);;
INSERT INTO sb VALUES (2, 20), (4, 40);;
UPDATE sa SET name = 'in' WHERE id IN (SELECT k FROM sb);;
SELECT id, name, v, p FROM sa;;
UPDATE sa AS x SET x.name = 'ex', v = x.v + 1 WHERE EXISTS (SELECT 1 FROM sb y WHERE y.k = x.id + 1);;
SELECT id, name, v, p FROM sa;;
UPDATE sa SET v = (SELECT max(v) FROM sb) WHERE id = 5;;
SELECT id, name, v, p FROM sa;;
DELETE FROM sa WHERE id NOT IN (SELECT k FROM sb) AND p = 1;;
SELECT id, name, v, p FROM sa;;
DELETE FROM sa t WHERE t.v > (SELECT avg(v) FROM sb) AND t.p IN (2, 3);;
SELECT id, name, v, p FROM sa;;
MERGE INTO sa t USING (WITH c AS (SELECT k, v FROM sb) SELECT k AS id, 'cte' AS name, v, 2 AS p FROM c) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.v = s.v, t.name = s.name;;
SELECT id, name, v, p FROM sa;;
WITH c AS (SELECT k AS id, 'with' AS name, v, 9 AS p FROM sb) MERGE INTO sa t USING c ON t.id = c.id WHEN MATCHED THEN UPDATE SET t.name = c.name;;
SELECT id, name, v, p FROM sa;;
MERGE INTO sa t USING sa s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v + t.v;;
SELECT id, name, v, p FROM sa;;
MERGE INTO sa t USING (SELECT id + 100 AS id, name, v, p FROM sa) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *;;
SELECT id, name, v, p FROM sa;;
MERGE INTO sa t USING (SELECT 1000 AS id, 'nbs' AS name, 1D AS v, 1 AS p) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED BY SOURCE AND t.id > 100 THEN DELETE;;
SELECT id, name, v, p FROM sa;;
DELETE FROM sa WHERE p = 2 OR name LIKE 'e%';;
SELECT id, name, v, p FROM sa;;

-- group: keys of several columns, and partitions by dates (cow)
CREATE TABLE fares (line STRING, stop INT, cents INT, seen BIGINT, day DATE) USING hudi PARTITIONED BY (day) TBLPROPERTIES (type = 'cow', primaryKey = 'line,stop', preCombineField = 'seen');;
INSERT INTO fares VALUES ('red', 1, 120, 5, DATE'2023-02-01'), ('red', 2, 150, 5, DATE'2023-02-01'), ('blue', 1, 90, 5, DATE'2023-02-02');;
WITH prices AS (SELECT 'red' AS l, 2 AS s, 175 AS c, 6L AS w, DATE'2023-02-01' AS d UNION ALL SELECT 'green', 4, 60, 6L, DATE'2023-02-03') MERGE INTO fares f USING prices p ON p.l = f.line AND p.s = f.stop AND p.d = f.day WHEN MATCHED THEN UPDATE SET cents = p.c, seen = p.w WHEN NOT MATCHED THEN INSERT (line, stop, cents, seen, day) VALUES (p.l, p.s, p.c, p.w, p.d);;
MERGE INTO fares f USING (SELECT 'red' AS l, 2 AS s, 175 AS c, 6L AS w, DATE'2023-02-01' AS d UNION ALL SELECT 'green', 4, 60, 6L, DATE'2023-02-03') p ON p.l = f.line AND p.s = f.stop AND p.d = f.day WHEN MATCHED THEN UPDATE SET cents = p.c, seen = p.w WHEN NOT MATCHED THEN INSERT (line, stop, cents, seen, day) VALUES (p.l, p.s, p.c, p.w, p.d);;
SELECT line, stop, cents, seen, day FROM fares;;
MERGE INTO fares f USING (SELECT 'blue' AS line, 1 AS stop, 99L AS seen) p ON f.line = p.line AND f.stop = p.stop WHEN MATCHED AND f.cents > 50 THEN DELETE;;
SELECT line, stop, cents, seen, day FROM fares;;

-- group: the table merged with itself (mor)
CREATE TABLE tally (id INT, hits INT, label STRING, ts BIGINT) USING hudi TBLPROPERTIES (type = 'mor', primaryKey = 'id', preCombineField = 'ts');;
INSERT INTO tally VALUES (1, 10, 'a', 1), (2, 20, 'b', 1), (3, 30, NULL, 1);;
MERGE INTO tally t USING (SELECT id, hits, label, ts + 1 AS ts FROM tally WHERE hits >= 20) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET hits = s.hits + t.hits, label = coalesce(t.label, 'none'), ts = s.ts;;
SELECT id, hits, label, ts FROM tally;;
MERGE INTO tally t USING (SELECT id + 10 AS id, hits, label, ts FROM tally) s ON t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND s.hits > 10 THEN INSERT *;;
SELECT id, hits, label, ts FROM tally;;
MERGE INTO tally t USING (SELECT * FROM tally WHERE false) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;;
SELECT id, hits, label, ts FROM tally;;
