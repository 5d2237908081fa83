-- group: create with every property (cow)
CREATE TABLE IF NOT EXISTS parts (sku STRING COMMENT 'article', qty INT, cost DECIMAL(8, 2), seen TIMESTAMP, depot STRING) USING hudi
PARTITIONED BY (depot) COMMENT 'stock of depots'
TBLPROPERTIES (type = 'cow', primaryKey = 'sku', preCombineField = 'seen', hoodie.cleaner.commits.retained = '5', keeper = 'ann');;
CREATE TABLE IF NOT EXISTS parts (other INT) USING hudi;;
CREATE TABLE parts (sku STRING) USING hudi;;
DESCRIBE parts;;
SHOW PARTITIONS parts;;
SELECT sku, qty, cost, seen, depot FROM parts;;
INSERT INTO parts VALUES ('bolt', 7, 1.25, TIMESTAMP'2023-04-05 06:07:08', 'north');;
SELECT sku, qty, cost, seen, depot FROM parts;;
SELECT _hoodie_record_key, _hoodie_partition_path FROM parts;;

-- group: create with options in place of properties (mor)
CREATE TABLE gauges (no BIGINT, val FLOAT, at BIGINT) USING hudi OPTIONS (type = 'mor', primaryKey = 'no', preCombineField = 'at');;
INSERT INTO gauges VALUES (11, 0.5, 3), (12, 0.25, 3);;
INSERT INTO gauges VALUES (11, 9.5, 2), (12, 9.25, 4);;
SELECT no, val, at FROM gauges;;

-- group: create what cannot be (cow)
CREATE TABLE nokey (a INT, b INT) USING hudi TBLPROPERTIES (primaryKey = 'c', type = 'cow');;
CREATE TABLE noorder (a INT, b INT) USING hudi TBLPROPERTIES (primaryKey = 'a', preCombineField = 'z', type = 'cow');;
CREATE TABLE nopart (a INT, b INT) USING hudi PARTITIONED BY (z) TBLPROPERTIES (primaryKey = 'a', type = 'cow');;
CREATE TABLE notype (a INT, b INT) USING hudi TBLPROPERTIES (primaryKey = 'a', type = 'cowboy');;
CREATE TABLE twice (a INT, A INT) USING hudi TBLPROPERTIES (type = 'cow');;
CREATE TABLE nowhere.t (a INT) USING hudi TBLPROPERTIES (type = 'cow');;
CREATE TABLE allparts (a INT) USING hudi PARTITIONED BY (a) TBLPROPERTIES (type = 'cow');;
SHOW TABLES;;

-- group: create over a folder (cow)
CREATE TABLE first_one (id INT, v STRING, g STRING) USING hudi PARTITIONED BY (g) LOCATION '${folder}/shared_place' TBLPROPERTIES (type = 'cow', primaryKey = 'id');;
INSERT INTO first_one VALUES (1, 'p', 'g1'), (2, 'q', 'g2');;
CREATE TABLE second_one USING hudi LOCATION '${folder}/shared_place';;
SELECT id, v, g FROM second_one;;
INSERT INTO second_one VALUES (3, 'r', 'g1');;
SELECT id, v, g FROM first_one;;
DROP TABLE first_one;;
SELECT count(*) FROM second_one;;
SELECT id, v, g FROM first_one;;
CREATE TABLE third_one (id INT, v STRING, g STRING) USING hudi PARTITIONED BY (g) LOCATION '${folder}/shared_place' TBLPROPERTIES (primaryKey = 'id');;
UPDATE third_one SET v = 'changed' WHERE id = 2;;
SELECT id, v, g FROM second_one WHERE g = 'g2';;
DROP TABLE second_one;;
DROP TABLE third_one;;

-- group: create like (cow)
CREATE TABLE model (id INT, v STRING, d DATE) USING hudi TBLPROPERTIES (type = 'cow', primaryKey = 'id', preCombineField = 'd');;
INSERT INTO model VALUES (1, 'x', DATE'2022-02-02');;
CREATE TABLE copied LIKE model;;
SELECT id, v, d FROM copied;;
INSERT INTO copied VALUES (5, 'y', DATE'2022-02-03');;
SELECT id, v, d FROM copied;;
SELECT id, v, d FROM model;;

-- group: drop (mor)
CREATE TABLE gone (id INT, v STRING) USING hudi TBLPROPERTIES (type = 'mor', primaryKey = 'id');;
INSERT INTO gone VALUES (1, 'a');;
DROP TABLE gone;;
DROP TABLE gone;;
DROP TABLE IF EXISTS gone;;
CREATE TABLE gone (id INT, w INT) USING hudi TBLPROPERTIES (type = 'mor', primaryKey = 'id');;
INSERT INTO gone VALUES (2, 3);;
SELECT id, w FROM gone;;
DROP TABLE gone PURGE;;

-- group: several key and partition columns (mor)
CREATE TABLE visits (who INT, place STRING, y INT, m INT, n BIGINT) USING hudi PARTITIONED BY (y, m) TBLPROPERTIES (type = 'mor', primaryKey = 'who,place', preCombineField = 'n');;
INSERT INTO visits VALUES (1, 'sea', 4, 2021, 7), (1, 'hill', 5, 2021, 8), (2, 'sea', 6, 2022, 7);;
INSERT INTO visits SELECT who, place, n + 10, y, m FROM visits WHERE place = 'sea';;
SELECT who, place, y, m, n FROM visits;;
SHOW PARTITIONS visits;;
SELECT _hoodie_record_key, _hoodie_partition_path FROM visits;;
DELETE FROM visits WHERE y = 2021 AND place = 'sea';;
SELECT who, place, y, m, n FROM visits;;

-- group: names with capitals and quotes (cow)
CREATE TABLE `Odd Ones` (id INT) USING hudi TBLPROPERTIES (type = 'cow', primaryKey = 'id');;
CREATE TABLE MixedCase (Id INT, `Two Words` STRING, Part STRING) USING hudi PARTITIONED BY (Part) TBLPROPERTIES (type = 'cow', primaryKey = 'Id');;
CREATE TABLE Cased (Id INT, Words STRING, Part STRING) USING hudi PARTITIONED BY (Part) TBLPROPERTIES (type = 'cow', primaryKey = 'Id');;
INSERT INTO cased VALUES (1, 'w', 'P');;
UPDATE CASED SET words = upper(WORDS) WHERE ID = 1;;
SELECT * FROM (SELECT Id, Words, Part FROM cased);;
DELETE FROM cased WHERE PART = 'P';;
SELECT count(*) FROM cased;;

-- group: create, foreign names in the properties
CREATE TABLE yard (lot INT, owner STRING, rent DOUBLE, seen BIGINT) USING hudi
TBLPROPERTIES (hoodie.database.name = 'elsewhere', hoodie.table.name = 'other', primaryKey = 'lot', preCombineField = 'seen', hoodie.datasource.write.operation = 'upsert');;
INSERT INTO yard VALUES (1, 'ann', 2.5, 10);;
INSERT INTO yard VALUES (1, 'bob', 3.5, 9);;
SELECT lot, owner, rent, seen FROM yard;;

-- group: create, options in any case
CREATE TABLE yard_o (lot INT, owner STRING, rent DOUBLE, seen BIGINT, town STRING) USING hudi PARTITIONED BY (town)
OPTIONS (hoodie.database.name = 'elsewhere', hoodie.table.name = 'other', PRIMARYKEY = 'lot', precombineField = 'seen', hoodie.datasource.write.operation = 'upsert');;
INSERT INTO yard_o VALUES (1, 'ann', 2.5, 10, 'ulm');;
SELECT lot, owner, rent, seen, town FROM yard_o;;
SELECT * FROM yard_o WHERE lot = 77;;

-- group: create, external and over a folder
CREATE TABLE stall (lot INT, owner STRING, rent DOUBLE, seen BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'lot,owner', type = 'cow') LOCATION '${folder}/stall';;
DROP TABLE stall;;
CREATE TABLE stall (lot INT, owner STRING, rent DOUBLE, seen BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'lot,owner', type = 'cow') LOCATION '${folder}/stall';;
CREATE TABLE stall_m (lot INT, owner STRING, rent DOUBLE, seen BIGINT, town STRING) USING hudi PARTITIONED BY (town) TBLPROPERTIES (primaryKey = 'lot', type = 'mor') LOCATION '${folder}/stall/h0';;
CREATE TABLE stall_3 USING hudi LOCATION '${folder}/stall/h0';;
INSERT INTO stall_3 VALUES (1, 'ann', 2.5, 10, 'ulm');;
SELECT lot, owner, rent, seen, town FROM stall_m;;
CREATE TABLE stall_4 USING hudi PARTITIONED BY (town) LOCATION '${folder}/stall/h0';;
CREATE TABLE stall_5 (lot INT, owner STRING) USING hudi LOCATION '${folder}/stall/h0';;
SELECT * FROM stall_5 WHERE lot > 5;;
CREATE TABLE stall_6 (lot INT, owner STRING, rent DOUBLE, seen BIGINT, town STRING) USING hudi PARTITIONED BY (town) TBLPROPERTIES (primaryKey = 'lot', type = 'cow') LOCATION '${folder}/stall/h0';;
CREATE TABLE stall_7 (lot INT, owner STRING, rent DOUBLE, seen BIGINT, town STRING) USING hudi PARTITIONED BY (town) TBLPROPERTIES (primaryKey = 'owner', type = 'mor') LOCATION '${folder}/stall/h0';;
CREATE TABLE stall_8 (lot INT, owner STRING, rent DOUBLE, seen BIGINT, town STRING) USING hudi PARTITIONED BY (town) TBLPROPERTIES (primaryKey = 'lot', preCombineField = 'seen', type = 'mor') LOCATION '${folder}/stall/h0';;
CREATE TABLE stall_9 USING hudi LOCATION '${folder}/nothing/there';;
CREATE TABLE stall_10 USING hudi;;
CREATE TABLE stall_11 (lot STRING, owner STRING, rent DOUBLE, seen BIGINT, town STRING) USING hudi PARTITIONED BY (town) LOCATION '${folder}/stall/h0';;

-- group: create, what cannot be
CREATE TABLE bad1 (lot INT, owner STRING, seen BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'nolot', type = 'cow') LOCATION '${folder}/b1';;
CREATE TABLE bad2 (lot INT, owner STRING, seen BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'lot', preCombineField = 'nope', type = 'cow') LOCATION '${folder}/b2';;
CREATE TABLE bad3 (lot INT, owner STRING, seen BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'lot', preCombineField = 'seen', type = 'cowy') LOCATION '${folder}/b3';;
CREATE TABLE bad4 (lot INT, owner STRING, seen BIGINT) USING hudi PARTITIONED BY (town) TBLPROPERTIES (primaryKey = 'lot');;
CREATE TABLE bad5 (lot INT, lot STRING) USING hudi;;
CREATE TABLE bad6 (lot INT, owner NUMBERISH) USING hudi;;
CREATE TABLE bad7 (lot INT, owner STRING) USING hudi CLUSTERED BY (lot) INTO 4 BUCKETS;;
CREATE TABLE bad8 (lot INT, owner STRING) USING hudi TBLPROPERTIES (recordMergeMode = 'SOMETIMES');;
CREATE TABLE bad9 (lot INT, owner STRING) USING hudi TBLPROPERTIES (type = 'MERGE_ON_READ', primaryKey = 'lot');;
CREATE TABLE bad10 (lot INT, owner STRING) USING hudi TBLPROPERTIES (note.of.mine = 'a', primaryKey = 'lot');;
CREATE TABLE bad11 (lot INT, owner STRING, at TIMESTAMP) USING hudi PARTITIONED BY (days(at)) TBLPROPERTIES (primaryKey = 'lot');;
CREATE TABLE bad12 (lot INT NOT NULL, owner STRING COMMENT 'who') USING hudi COMMENT 'all lots' TBLPROPERTIES (primaryKey = 'lot');;
CREATE TABLE bad13 (_hoodie_record_key STRING, lot INT) USING hudi TBLPROPERTIES (primaryKey = 'lot');;
CREATE TABLE bad14 (a INT, A STRING) USING hudi;;
CREATE TABLE nodb.bad15 (a INT) USING hudi;;
CREATE TABLE bad16 (a INT, v INT GENERATED ALWAYS AS (a + 1)) USING hudi;;
CREATE TABLE bad17 (lot INT, owner STRING) USING hudi PARTITIONED BY (lot, owner);;
CREATE EXTERNAL TABLE bad18 (lot INT, owner STRING) USING hudi;;
CREATE TABLE bad19 (lot INT, owner STRING) USING hudi TBLPROPERTIES (hoodie.table.name = 'x', hoodie.no.such.thing = '1');;
DESCRIBE TABLE bad12;;

-- group: ctas cow
CREATE TABLE c1 USING hudi TBLPROPERTIES (primaryKey = 'lot', type = 'cow') LOCATION '${folder}/c1' AS SELECT 1 AS lot, 'ann' AS owner, 10 AS rent, 1000 AS seen;;
SELECT lot, owner, rent, seen FROM c1;;
CREATE TABLE c2 USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'lot', type = 'cow') LOCATION '${folder}/c2' AS SELECT 1 AS lot, 'ann' AS owner, 10 AS rent, '2022-05-01' AS day;;
SELECT lot, owner, rent, day, _hoodie_partition_path, _hoodie_record_key FROM c2;;
CREATE TABLE c3 USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'lot', type = 'cow') LOCATION '${folder}/c3' AS SELECT NULL AS lot, 'ann' AS owner, 10 AS rent, '2022-05-01' AS day;;
CREATE TABLE c3 USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'lot', type = 'cow') LOCATION '${folder}/c3' AS SELECT CAST('2022-05-06 00:00:00' AS TIMESTAMP) AS day, 1 AS lot, 'ann' AS owner, 10 AS rent;;
SELECT lot, owner, rent, CAST(day AS STRING), _hoodie_partition_path FROM c3;;
CREATE TABLE c4 USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'lot', type = 'cow') LOCATION '${folder}/c4' AS SELECT CAST('2022-05-06' AS DATE) AS day, 1 AS lot, 'ann' AS owner, 10 AS rent;;
SELECT lot, owner, rent, CAST(day AS STRING), _hoodie_partition_path FROM c4;;
CREATE TABLE c5 USING hudi TBLPROPERTIES (type = 'cow') AS SELECT 1 AS lot, 'ann' AS owner;;
SELECT lot, owner FROM c5;;
CREATE TABLE c6 USING hudi PARTITIONED BY (day) AS SELECT 1 AS lot, 'ann' AS owner, '2022-05-01' AS day;;
SELECT lot, owner, day FROM c6;;
CREATE TABLE c7 USING hudi TBLPROPERTIES (primaryKey = 'lot', preCombineField = 'seen') AS SELECT 1 AS lot, 'ann' AS owner, 10 AS seen UNION ALL SELECT 1, 'bob', 11;;
SELECT lot, owner, seen FROM c7;;
CREATE TABLE c8 USING hudi TBLPROPERTIES (primaryKey = 'lot', type = 'cow', hoodie.compact.inline = 'true') AS SELECT 1 AS lot, 'ann' AS owner;;
CREATE TABLE c9 USING hudi PARTITIONED BY (day) OPTIONS (hoodie.database.name = 'elsewhere', hoodie.table.name = 'other', primaryKey = 'lot', preCombineField = 'seen', hoodie.datasource.write.operation = 'upsert', type = 'mor') AS SELECT 1 AS lot, 'ann' AS owner, '2022-05-01' AS day, 4 AS seen;;
SELECT lot, owner, day, seen FROM c9;;
CREATE TABLE IF NOT EXISTS c9 USING hudi AS SELECT 5 AS lot;;
CREATE TABLE c9 USING hudi AS SELECT 5 AS lot;;
CREATE TABLE c10 USING hudi PARTITIONED BY (day, hh) TBLPROPERTIES (primaryKey = 'lot', type = 'mor') AS SELECT '2022/05/01' AS day, 7 AS hh, 1 AS lot, CAST(2.50 AS DECIMAL(10, 2)) AS rent, X'01ab' AS bin, array(1, 2) AS arr, map('k', 1) AS mp, named_struct('p', 1, 'q', 'z') AS st;;
SELECT lot, rent, bin, arr, mp, st, day, hh, _hoodie_partition_path FROM c10;;
CREATE TABLE c11 COMMENT 'made by a query' USING hudi TBLPROPERTIES (primaryKey = 'lot') AS SELECT 1 AS lot, 'x' AS v WHERE false;;
SELECT count(*) FROM c11;;
CREATE TABLE c12 USING hudi TBLPROPERTIES (primaryKey = 'nolot') AS SELECT 1 AS lot;;
CREATE TABLE c13 (lot INT) USING hudi TBLPROPERTIES (primaryKey = 'lot') AS SELECT 1 AS lot;;
CREATE TABLE c14 USING hudi LOCATION '${folder}/c1' AS SELECT 5 AS lot, 'zed' AS owner, 1 AS rent, 2 AS seen;;
SELECT lot, owner, rent, seen FROM c14;;
CREATE TABLE c15 USING hudi AS SELECT * FROM c1;;
SELECT lot, owner, rent, seen FROM c15;;
CREATE TABLE c16 USING hudi TBLPROPERTIES (primaryKey = 'lot') AS WITH q AS (SELECT 9 AS lot, 'cte' AS w) SELECT * FROM q;;
SELECT lot, w FROM c16;;

-- group: ctas over a managed folder that is there
CREATE TABLE m1 (lot INT, owner STRING, seen BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'lot', preCombineField = 'seen') LOCATION '${folder}/m1';;
CREATE TABLE m2 (lot INT) USING hudi;;
INSERT INTO m2 VALUES (1);;
DROP TABLE m2;;
CREATE TABLE m2 (lot INT) USING hudi;;
SELECT lot FROM m2;;

-- group: ro and rt
CREATE TABLE logt (lot INT, owner STRING, seen BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'lot', preCombineField = 'seen', type = 'mor') LOCATION '${folder}/logt';;
INSERT INTO logt VALUES (1, 'ann', 10);;
INSERT INTO logt VALUES (1, 'bob', 11);;
CREATE TABLE logt_ro USING hudi TBLPROPERTIES ('hoodie.query.as.ro.table' = 'true') LOCATION '${folder}/logt';;
SELECT lot, owner, seen FROM logt_ro;;
CREATE TABLE logt_rt USING hudi TBLPROPERTIES ('hoodie.query.as.ro.table' = 'false') LOCATION '${folder}/logt';;
SELECT lot, owner, seen FROM logt_rt;;
CREATE TABLE flat (lot INT, owner STRING, seen BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'lot', preCombineField = 'seen', type = 'cow') LOCATION '${folder}/flat';;
CREATE TABLE flat_ro USING hudi TBLPROPERTIES ('hoodie.query.as.ro.table' = 'true') LOCATION '${folder}/flat';;
CREATE TABLE none_ro USING hudi TBLPROPERTIES ('hoodie.query.as.ro.table' = 'true') LOCATION '${folder}/nonehere';;
CREATE TABLE ctas_ro USING hudi TBLPROPERTIES (primaryKey = 'lot', type = 'mor', 'hoodie.query.as.ro.table' = 'true') LOCATION '${folder}/ctasro' AS SELECT 1 AS lot;;

-- group: create like
CREATE TABLE src (lot INT, owner STRING, rent DOUBLE, seen BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'lot,owner', type = 'mor') LOCATION '${folder}/src';;
CREATE TABLE l1 LIKE src USING hudi;;
CREATE TABLE l1 LIKE src USING hudi;;
CREATE TABLE IF NOT EXISTS l1 LIKE src USING hudi;;
INSERT INTO l1 VALUES (1, 'ann', 2.0, 3);;
SELECT lot, owner, rent, seen FROM l1;;
CREATE TABLE l2 LIKE src USING hudi LOCATION '${folder}/l2';;
CREATE TABLE l3 LIKE src USING hudi TBLPROPERTIES (primaryKey = 'lot');;
CREATE TABLE plain (lot INT, owner STRING, rent DOUBLE) USING parquet TBLPROPERTIES (some.property = 'v') LOCATION '${folder}/plain';;
CREATE TABLE l4 LIKE plain USING hudi TBLPROPERTIES (primaryKey = 'lot,owner', type = 'cow');;
INSERT INTO l4 VALUES (1, 'ann', 2.0);;
SELECT lot, owner, rent FROM l4;;
CREATE TABLE l5 LIKE src;;
CREATE TABLE psrc (lot INT, owner STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'lot');;
CREATE TABLE l6 LIKE psrc USING hudi;;
INSERT INTO l6 VALUES (1, 'ann', 'mon');;
SELECT lot, owner, day, _hoodie_partition_path FROM l6;;
CREATE TABLE l7 LIKE nothere USING hudi;;

-- group: key generators and table configs
CREATE TABLE k1 (lot INT, owner STRING, rent DOUBLE, seen BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'lot', preCombineField = 'seen');;
CREATE TABLE k2 (lot INT, owner STRING, rent DOUBLE, seen BIGINT) USING hudi PARTITIONED BY (seen) TBLPROPERTIES (primaryKey = 'lot', preCombineField = 'seen');;
CREATE TABLE k3 (lot INT, owner STRING, rent DOUBLE, seen BIGINT) USING hudi PARTITIONED BY (seen) TBLPROPERTIES (primaryKey = 'lot,owner', preCombineField = 'seen');;
INSERT INTO k3 VALUES (1, 'ann', 2.0, 3);;
SELECT *  FROM k3 WHERE lot = 4;;
SELECT _hoodie_record_key, _hoodie_partition_path FROM k3;;
CREATE TABLE k4 (lot TINYINT, owner VARCHAR(10), rent DOUBLE, seen BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'lot', preCombineField = 'seen');;
CREATE TABLE k5 (lot INT, owner STRING, rent DOUBLE, seen BIGINT) USING hudi TBLPROPERTIES (hoodie.table.recordkey.fields = 'lot', hoodie.table.type = 'MERGE_ON_READ', hoodie.table.precombine.field = 'seen');;
CREATE TABLE k6 (lot INT, owner STRING, rent DOUBLE, seen BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'lot', type = 'cow', hoodie.table.base.file.format = 'PARQUET');;
CREATE TABLE k7 (lot INT, owner STRING) USING hudi TBLPROPERTIES (hoodie.datasource.write.recordkey.field = 'lot', hoodie.datasource.write.table.type = 'MERGE_ON_READ');;
CREATE TABLE k8 (lot INT, owner STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'lot', hoodie.datasource.write.hive_style_partitioning = 'false');;
INSERT INTO k8 VALUES (1, 'ann', 'a/b');;
SELECT lot, owner, day, _hoodie_partition_path FROM k8;;
CREATE TABLE k9 (lot INT, owner STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'lot', hoodie.datasource.write.partitionpath.urlencode = 'true');;
INSERT INTO k9 VALUES (1, 'ann', 'a/b c');;
SELECT lot, owner, day, _hoodie_partition_path FROM k9;;
CREATE TABLE k10 (lot INT, owner STRING) USING hudi TBLPROPERTIES (primaryKey = 'lot', recordMergeMode = 'COMMIT_TIME_ORDERING');;
CREATE TABLE k11 (lot INT, owner STRING, seen INT) USING hudi TBLPROPERTIES (primaryKey = 'lot', preCombineField = 'seen', payloadClass = 'org.apache.hudi.common.model.OverwriteWithLatestAvroPayload');;
CREATE TABLE k12 (lot INT, owner STRING, seen INT) USING hudi TBLPROPERTIES (primaryKey = 'lot', orderingFields = 'seen');;

-- group: names beyond ASCII
CREATE TABLE staedte (id INT, straße STRING, `größe m²` DOUBLE, 日期 STRING) USING hudi PARTITIONED BY (日期) TBLPROPERTIES (primaryKey = 'id', preCombineField = 'id');;
INSERT INTO staedte VALUES (1, 'weg', 2.5, '五月');;
SELECT id, straße, 日期 FROM staedte;;

-- group: replace
CREATE OR REPLACE TABLE rep (lot INT, owner STRING) USING hudi TBLPROPERTIES (primaryKey = 'lot');;
INSERT INTO rep VALUES (1, 'ann');;
CREATE OR REPLACE TABLE rep (lot INT, town STRING) USING hudi TBLPROPERTIES (primaryKey = 'lot');;
SELECT * FROM rep;;
CREATE OR REPLACE TABLE rep USING hudi AS SELECT 1 AS a, 2 AS b;;
SELECT a, b FROM rep;;
REPLACE TABLE rep (q INT) USING hudi;;
