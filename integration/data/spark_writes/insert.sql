-- group: insert with columns named (cow)
CREATE TABLE people (id INT, name STRING, age INT, since BIGINT, town STRING) USING hudi PARTITIONED BY (town) TBLPROPERTIES (type = 'cow', primaryKey = 'id', preCombineField = 'since');;
INSERT INTO people (town, id, since, name) VALUES ('bern', 1, 5, 'eva');;
INSERT INTO people (id, name, age, since, town) SELECT 2, 'max', 30, 6, 'graz';;
INSERT INTO people PARTITION (town = 'linz') VALUES (3, 'ida', 40, 7);;
INSERT INTO people PARTITION (town) SELECT 4, 'leo', 50, 8, 'bern';;
INSERT INTO people BY NAME SELECT 'graz' AS town, 9L AS since, 5 AS id, 'uma' AS name, 20 AS age;;
SELECT id, name, age, since, town FROM people;;
INSERT INTO people (id, name) VALUES (6, 'nobody', 7);;
INSERT INTO people VALUES (7, 'short');;
INSERT INTO people (id, missing) VALUES (8, 'x');;
INSERT INTO people PARTITION (name = 'z') VALUES (9, 1, 1, 'bern');;
SELECT count(*) FROM people;;
INSERT INTO people VALUES (1, 'eva2', 31, 9, 'bern'), (2, 'old', 0, 1, 'graz');;
SELECT id, name, age, since, town FROM people WHERE id < 3;;

-- group: insert operations (cow)
SET hoodie.spark.sql.insert.into.operation = insert;;
CREATE TABLE doubles (id INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (type = 'cow', primaryKey = 'id', preCombineField = 'ts');;
INSERT INTO doubles VALUES (1, 'a', 1);;
INSERT INTO doubles VALUES (1, 'b', 2);;
SELECT id, v, ts FROM doubles;;
SET hoodie.spark.sql.insert.into.operation = bulk_insert;;
INSERT INTO doubles VALUES (2, 'c', 2), (2, 'd', 3);;
SELECT id, v, ts FROM doubles;;
SET hoodie.spark.sql.insert.into.operation = upsert;;
INSERT INTO doubles VALUES (2, 'e', 9);;
SELECT id, v, ts FROM doubles WHERE id = 2;;

-- group: duplicate policies (cow)
CREATE TABLE policy (id INT, v STRING) USING hudi TBLPROPERTIES (type = 'cow', primaryKey = 'id');;
INSERT INTO policy VALUES (1, 'a'), (2, 'b');;
SET hoodie.datasource.insert.dup.policy = drop;;
INSERT INTO policy VALUES (2, 'again'), (3, 'c');;
SELECT id, v FROM policy;;
SET hoodie.datasource.insert.dup.policy = fail;;
INSERT INTO policy VALUES (3, 'again'), (4, 'd');;
SELECT id, v FROM policy;;
INSERT INTO policy VALUES (5, 'e');;
SELECT id, v FROM policy;;

-- group: insert without ordering (mor)
CREATE TABLE plain_key (id INT, v STRING) USING hudi TBLPROPERTIES (type = 'mor', primaryKey = 'id');;
INSERT INTO plain_key VALUES (1, 'a'), (2, 'b');;
INSERT INTO plain_key VALUES (2, 'bb'), (3, 'c');;
SELECT id, v FROM plain_key;;
INSERT INTO plain_key SELECT id + 10, v FROM plain_key;;
SELECT id, v FROM plain_key;;
INSERT INTO plain_key SELECT * FROM plain_key WHERE id = 11;;
SELECT id, v FROM plain_key WHERE id = 11;;
INSERT INTO plain_key VALUES (NULL, 'no key');;
SELECT count(*) FROM plain_key;;

-- group: casts of inserted values (cow)
CREATE TABLE strict (id INT, n BIGINT, d DECIMAL(6, 2), s STRING, day DATE) USING hudi TBLPROPERTIES (type = 'cow', primaryKey = 'id');;
INSERT INTO strict VALUES (1, 2, 3, 'x', DATE'2021-01-01');;
INSERT INTO strict VALUES (2L, 2, 3.456, 4, TIMESTAMP'2021-01-01 10:00:00');;
INSERT INTO strict VALUES ('three', 1, 1, 'x', DATE'2021-01-01');;
INSERT INTO strict VALUES (4, 1, 99999.9, 'x', DATE'2021-01-01');;
INSERT INTO strict VALUES (5, 9999999999, 1, 'x', '2021-01-01');;
INSERT INTO strict VALUES (99999999999, 1, 1, 'x', NULL);;
SELECT id, n, d, s, day FROM strict;;

-- group: partition values of all kinds (cow)
CREATE TABLE sorted_in (id INT, d DATE, s STRING) USING hudi PARTITIONED BY (d, s) TBLPROPERTIES (type = 'cow', primaryKey = 'id');;
INSERT INTO sorted_in VALUES (1, DATE'2021-03-04', 'a b'), (2, DATE'2021-03-05', 'c/d'), (3, NULL, 'e'), (4, DATE'2021-03-04', NULL);;
SELECT id, d, s FROM sorted_in;;
SELECT id FROM sorted_in WHERE d = DATE'2021-03-04';;
SELECT id FROM sorted_in WHERE s IS NULL OR d IS NULL;;
SELECT _hoodie_partition_path FROM sorted_in;;

-- group: partition values that are numbers (mor)
CREATE TABLE by_number (id INT, v STRING, y INT, big BIGINT) USING hudi PARTITIONED BY (y, big) TBLPROPERTIES (type = 'mor', primaryKey = 'id');;
INSERT INTO by_number VALUES (1, 'a', 2020, 10000000000), (2, 'b', -1, 0);;
INSERT INTO by_number PARTITION (y = 7, big) SELECT 3, 'c', 8L;;
INSERT INTO by_number PARTITION (y = 7, big = 9) VALUES (4, 'd');;
SELECT id, v, y, big FROM by_number;;
SELECT id FROM by_number WHERE y < 100 AND big > 0;;
SHOW PARTITIONS by_number;;

-- group: insert by path (mor)
CREATE TABLE at_path (id INT, v STRING) USING hudi LOCATION '${folder}/at_path' TBLPROPERTIES (type = 'mor', primaryKey = 'id');;
INSERT INTO at_path VALUES (1, 'a');;
INSERT INTO hudi.`${folder}/at_path` VALUES (2, 'b');;
SELECT id, v FROM hudi.`${folder}/at_path`;;
SELECT id, v FROM at_path;;

-- group: insert values with partition moved last
CREATE TABLE i1 (id INT, dt STRING, name STRING, price DOUBLE, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'id') PARTITIONED BY (dt) LOCATION '${folder}/i1';;
INSERT INTO i1 VALUES (1, 'p1', 10, 1000, '2023-02-05'), (2, 'p2', 20, 2000, '2023-02-06');;
SELECT id, name, price, ts, dt FROM i1 WHERE year(dt) > '2020' AND lower(name) > 'a0';;
INSERT INTO i1 PARTITION (dt = '2023-02-05') SELECT 3 AS id, 'p3' AS name, 10 AS price, 1000 AS ts;;
INSERT INTO i1 PARTITION (dt = '2023-02-06') SELECT 20 AS price, 2000 AS ts, 4 AS id, 'p4' AS name;;
INSERT INTO i1 SELECT 5, 'p5', 30, 3000, '2023-02-07';;
INSERT INTO i1 PARTITION (dt) SELECT 6 AS id, '2023-02-05' AS dt, 'p6' AS name, 10 AS price, 1000 AS ts;;
INSERT INTO i1 SELECT 7 AS id, 'p7' AS name, 20 AS price, 2000 AS ts, '2023-02-06' AS dt;;
INSERT INTO i1 SELECT '2023-02-08' AS dt, 8 AS id, 'p8' AS name, 20 AS price, 2000 AS ts;;
INSERT INTO i1 SELECT 9 AS id, 'p9' AS nom, 20 AS price, 2000 AS ts, '2023-02-08' AS dt;;
INSERT INTO i1 SELECT 10 AS ID, 'p10' AS NAME, 20 AS price, 2000 AS ts, '2023-02-08' AS dt;;
INSERT INTO i1 BY NAME SELECT '2023-02-08' AS dt, 11 AS id, 'p11' AS name, 20 AS price, 2000 AS ts;;
INSERT INTO i1 BY NAME SELECT '2023-02-08' AS dt, 12 AS id, 'p12' AS name;;
SELECT id, name, price, ts, dt, _hoodie_record_key, _hoodie_partition_path FROM i1;;
SELECT * FROM i1 WHERE id = 99;;

-- group: inserts in several partition columns
CREATE TABLE i2 (id INT, dt STRING, name STRING, price DOUBLE, ht STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'id', type = 'mor') PARTITIONED BY (dt, ht) LOCATION '${folder}/i2';;
INSERT INTO i2 PARTITION (dt, ht) SELECT 1 AS id, 'a1' AS name, 10 AS price, '20230101' AS dt, 1000 AS ts, '01' AS ht;;
INSERT INTO i2 PARTITION (dt = '20230102', ht) SELECT 2 AS id, 'a2' AS name, 20 AS price, 2000 AS ts, '02' AS ht;;
INSERT INTO i2 PARTITION (dt, ht = '03') SELECT 3 AS id, 'a3' AS name, 30 AS price, 3000 AS ts, '20230103' AS dt;;
INSERT INTO i2 SELECT 4, 'a4', 40, 4000, '20230104', '04';;
INSERT INTO i2 PARTITION (ht = '05', dt = '20230105') SELECT 5, 'a5', 40, 4000;;
INSERT INTO i2 PARTITION (nope = '1') SELECT 5, 'a5', 40, 4000, '1', '2';;
INSERT INTO i2 (id, name, dt, ht) VALUES (6, 'a6', '20230106', '06');;
INSERT INTO i2 (dt, ht, id, ts) SELECT '20230107', '07', 7, 5;;
INSERT INTO i2 PARTITION (dt = '20230108', ht) (id, ht, name) VALUES (8, '08', 'a8');;
INSERT INTO i2 PARTITION (dt = '20230109', ht = '09') (id, name) VALUES (9, 'a9');;
SELECT id, name, price, ts, dt, ht, _hoodie_partition_path FROM i2;;

-- group: dup policy fail and drop
CREATE TABLE d1 (id INT, name STRING, price DOUBLE, ts BIGINT) USING hudi LOCATION '${folder}/d1' TBLPROPERTIES (type = 'cow', primaryKey = 'id', preCombineField = 'ts');;
SET hoodie.datasource.insert.dup.policy=fail;;
INSERT INTO d1 VALUES (1, 'a1', 10, 1000);;
INSERT INTO d1 SELECT 2, 'a2', 12, 1000;;
INSERT INTO d1 SELECT 1, 'a1', 10, 1000;;
SELECT id, name, price, ts FROM d1;;
CREATE TABLE d2 (id INT, name STRING, price DOUBLE, ts BIGINT) USING hudi LOCATION '${folder}/d2' TBLPROPERTIES (type = 'mor', primaryKey = 'id', preCombineField = 'ts');;
SET hoodie.datasource.insert.dup.policy=drop;;
INSERT INTO d2 SELECT 1, 'a1', 10, 1000;;
INSERT INTO d2 SELECT 1, 'a1', 12, 1001;;
INSERT INTO d2 VALUES (3, 'x', 1, 5), (3, 'y', 2, 6);;
SELECT id, name, price, ts FROM d2;;
SET hoodie.spark.sql.insert.into.operation=insert;;
INSERT INTO d2 SELECT 1, 'a1', 13, 1002;;
INSERT INTO d2 VALUES (4, 'x', 1, 5), (4, 'y', 2, 6);;
SELECT id, name, price, ts FROM d2;;
SET hoodie.spark.sql.insert.into.operation=bulk_insert;;
INSERT INTO d2 VALUES (5, 'x', 1, 5), (5, 'y', 2, 6);;
SET hoodie.datasource.insert.dup.policy=fail;;
INSERT INTO d2 VALUES (5, 'x', 1, 5), (5, 'y', 2, 6);;
SELECT id, name, price, ts FROM d2;;
SET hoodie.datasource.insert.dup.policy=none;;
INSERT INTO d2 VALUES (5, 'x', 1, 5), (5, 'y', 2, 6);;
SELECT id, name, price, ts FROM d2;;
RESET hoodie.datasource.insert.dup.policy;;
SET hoodie.spark.sql.insert.into.operation=upsert;;
SET hoodie.datasource.insert.dup.policy=fail;;
INSERT INTO d2 VALUES (5, 'z', 1, 9);;
SELECT id, name, price, ts FROM d2;;
SET hoodie.spark.sql.insert.into.operation=delete;;
INSERT INTO d2 VALUES (6, 'x', 1, 5);;
RESET hoodie.datasource.insert.dup.policy;;
RESET hoodie.spark.sql.insert.into.operation;;

-- group: dup policy without ordering field
SET hoodie.datasource.insert.dup.policy=fail;;
CREATE TABLE d3 (id INT, name STRING, price DOUBLE) USING hudi TBLPROPERTIES (type = 'cow', primaryKey = 'id');;
INSERT INTO d3 VALUES (1, 'a1', 10);;
INSERT INTO d3 SELECT 2, 'a2', 12;;
INSERT INTO d3 SELECT 1, 'a1', 10;;
INSERT INTO d3 VALUES (5, 'a1', 10), (5, 'a2', 11);;
SELECT id, name, price FROM d3;;
SET hoodie.datasource.insert.dup.policy=drop;;
INSERT INTO d3 VALUES (5, 'a1', 10), (5, 'a2', 11);;
SELECT id, name, price FROM d3;;
RESET hoodie.datasource.insert.dup.policy;;

-- group: drop duplicates and combine
CREATE TABLE e1 (id INT, name STRING, price DOUBLE, ts BIGINT) USING hudi TBLPROPERTIES (type = 'cow', primaryKey = 'id', preCombineField = 'ts');;
SET hoodie.datasource.write.insert.drop.duplicates=true;;
INSERT INTO e1 VALUES (1, 'a1', 10, 1000);;
INSERT INTO e1 VALUES (1, 'a1', 11, 1001), (2, 'b', 1, 1), (2, 'c', 2, 2);;
SELECT id, name, price, ts FROM e1;;
RESET hoodie.datasource.write.insert.drop.duplicates;;
SET hoodie.spark.sql.insert.into.operation=insert;;
INSERT INTO e1 VALUES (3, 'x', 1, 1), (3, 'y', 2, 2);;
INSERT INTO e1 VALUES (3, 'z', 1, 1);;
SELECT id, name, price, ts FROM e1;;
SET hoodie.combine.before.insert=true;;
INSERT INTO e1 VALUES (4, 'x', 1, 1), (4, 'y', 2, 2);;
SELECT id, name, price, ts FROM e1 WHERE id = 4;;
SET hoodie.combine.before.insert=false;;
INSERT INTO e1 VALUES (5, 'x', 1, 1), (5, 'y', 2, 2);;
SELECT id, name, price, ts FROM e1 WHERE id = 5;;
RESET hoodie.combine.before.insert;;
SET hoodie.spark.sql.insert.into.operation=bulk_insert;;
SET hoodie.combine.before.insert=true;;
INSERT INTO e1 VALUES (7, 'x', 1, 1), (7, 'y', 2, 2);;
SELECT id, name, price, ts FROM e1 WHERE id = 7;;
RESET hoodie.datasource.write.insert.drop.duplicates;;
RESET hoodie.spark.sql.insert.into.operation;;
RESET hoodie.combine.before.insert;;

-- group: combine before overwrite mor
SET hoodie.sql.bulk.insert.enable=false;;
SET hoodie.merge.allow.duplicate.on.inserts=false;;
CREATE TABLE e2 (id INT, name STRING, price DOUBLE, ts BIGINT) USING hudi TBLPROPERTIES (type = 'mor', primaryKey = 'id', preCombineField = 'ts');;
INSERT OVERWRITE TABLE e2 SELECT * FROM (SELECT 1 AS id, 'a1' AS name, 10 AS price, 1000 AS ts UNION ALL SELECT 1 AS id, 'a1' AS name, 11 AS price, 1001 AS ts);;
SELECT id, name, price, ts FROM e2;;
INSERT INTO e2 VALUES (1, 'b', 12, 1000);;
INSERT INTO e2 VALUES (1, 'c', 13, 1001);;
SELECT id, name, price, ts FROM e2;;
RESET hoodie.sql.bulk.insert.enable;;
RESET hoodie.merge.allow.duplicate.on.inserts;;

-- group: insert operations by settings
CREATE TABLE o1 (id INT, name STRING, price DOUBLE, dt STRING) USING hudi TBLPROPERTIES (type = 'cow', primaryKey = 'id', preCombine = 'name') PARTITIONED BY (dt);;
INSERT INTO o1 VALUES (1, 'a1', 10, 'x');;
INSERT INTO o1 VALUES (1, 'a2', 11, 'x'), (2, 'b', 1, 'x'), (2, 'c', 2, 'x');;
SELECT id, name, price, dt FROM o1;;
CREATE TABLE o2 (id INT, name STRING, price DOUBLE, dt STRING) USING hudi TBLPROPERTIES (type = 'mor', primaryKey = 'id', preCombineField = 'name') PARTITIONED BY (dt);;
SET hoodie.sql.insert.mode=upsert;;
INSERT INTO o2 VALUES (1, 'a1', 10, 'x');;
INSERT INTO o2 VALUES (1, 'a2', 11, 'x'), (2, 'b', 1, 'x'), (2, 'c', 2, 'x');;
SELECT id, name, price, dt FROM o2;;
SET hoodie.sql.insert.mode=strict;;
INSERT INTO o2 VALUES (1, 'a3', 11, 'x');;
INSERT INTO o2 VALUES (3, 'a3', 11, 'x');;
SELECT id, name, price, dt FROM o2;;
SET hoodie.sql.insert.mode=non-strict;;
INSERT INTO o2 VALUES (3, 'a4', 11, 'x');;
SELECT id, name, price, dt FROM o2;;
SET hoodie.sql.bulk.insert.enable=true;;
INSERT INTO o2 VALUES (4, 'a4', 11, 'x'), (4, 'a5', 12, 'x');;
SELECT id, name, price, dt FROM o2;;
SET hoodie.sql.insert.mode=strict;;
INSERT INTO o2 VALUES (4, 'a4', 11, 'x'), (4, 'a5', 12, 'x');;
SET hoodie.sql.insert.mode=upsert;;
INSERT INTO o2 VALUES (4, 'a6', 11, 'x'), (4, 'a7', 12, 'x');;
SET hoodie.sql.insert.mode=lenient;;
INSERT INTO o2 VALUES (4, 'a6', 11, 'x');;
RESET hoodie.sql.insert.mode;;
INSERT INTO o2 VALUES (5, 'a6', 11, 'x'), (5, 'a7', 12, 'x');;
INSERT OVERWRITE o2 VALUES (6, 'a6', 11, 'x'), (6, 'a7', 12, 'x');;
SELECT id, name, price, dt FROM o2;;
RESET hoodie.sql.bulk.insert.enable;;
SET hoodie.datasource.write.operation=insert;;
INSERT INTO o2 VALUES (6, 'a9', 11, 'x');;
SELECT id, name, price, dt FROM o2;;
SET hoodie.datasource.write.operation=upsert;;
INSERT INTO o2 VALUES (7, 'a9', 11, 'x');;
SET hoodie.datasource.write.operation=bulk_insert;;
INSERT INTO o2 VALUES (7, 'a9', 11, 'x');;
SELECT id, name, price, dt FROM o2;;
SET hoodie.datasource.write.operation=insert_overwrite;;
INSERT INTO o2 VALUES (8, 'a9', 11, 'y');;
SELECT id, name, price, dt FROM o2;;
SET hoodie.datasource.write.operation=insert_overwrite_table;;
INSERT INTO o2 VALUES (9, 'a9', 11, 'y');;
SELECT id, name, price, dt FROM o2;;
SET hoodie.datasource.write.operation=delete;;
INSERT INTO o2 VALUES (9, 'a9', 11, 'y');;
SELECT id, name, price, dt FROM o2;;
RESET hoodie.sql.insert.mode;;
RESET hoodie.sql.bulk.insert.enable;;
RESET hoodie.datasource.write.operation;;

-- group: insert overwrite modes cow
CREATE TABLE w1 (id INT, name STRING, price DOUBLE, ts BIGINT, dt STRING) USING hudi TBLPROPERTIES (type = 'cow', primaryKey = 'id') PARTITIONED BY (dt);;
INSERT INTO w1 VALUES (1, 'a1', 10, 1000, 'd5'), (2, 'a2', 10, 1000, 'd6');;
INSERT OVERWRITE TABLE w1 VALUES (3, 'a3', 10, 1000, 'd6'), (4, 'a4', 10, 1000, 'd7');;
SELECT id, name, price, ts, dt FROM w1;;
SET spark.sql.sources.partitionOverwriteMode=dynamic;;
INSERT OVERWRITE TABLE w1 VALUES (5, 'a5', 10, 1000, 'd7');;
SELECT id, name, price, ts, dt FROM w1;;
INSERT OVERWRITE TABLE w1 PARTITION (dt = 'd6') SELECT * FROM (SELECT 6, 'a6', 10, 1000) LIMIT 10;;
SELECT id, name, price, ts, dt FROM w1;;
SET spark.sql.sources.partitionOverwriteMode=static;;
SET hoodie.datasource.overwrite.mode=dynamic;;
INSERT OVERWRITE TABLE w1 VALUES (7, 'a7', 10, 1000, 'd7');;
SELECT id, name, price, ts, dt FROM w1;;
SET hoodie.datasource.overwrite.mode=static;;
INSERT OVERWRITE TABLE w1 VALUES (8, 'a8', 10, 1000, 'd7'), (9, 'a9', 10, 1000, 'd8');;
SELECT id, name, price, ts, dt FROM w1;;
SET hoodie.datasource.write.operation=insert_overwrite;;
INSERT OVERWRITE TABLE w1 VALUES (10, 'a10', 10, 1000, 'd8');;
SELECT id, name, price, ts, dt FROM w1;;
SET hoodie.datasource.write.operation=insert_overwrite_table;;
INSERT OVERWRITE TABLE w1 VALUES (11, 'a11', 10, 1000, 'd8'), (12, 'a12', 10, 1000, 'd9');;
SELECT id, name, price, ts, dt FROM w1;;
INSERT OVERWRITE TABLE w1 PARTITION (dt = 'd8') VALUES (13, 'a13', 10, 1000);;
SELECT id, name, price, ts, dt FROM w1;;
RESET hoodie.datasource.write.operation;;
RESET hoodie.datasource.overwrite.mode;;
INSERT OVERWRITE TABLE w1 PARTITION (dt = 'd8') SELECT id, name, price, ts FROM w1 WHERE id > 100;;
SELECT id, name, price, ts, dt FROM w1;;
INSERT OVERWRITE TABLE w1 SELECT * FROM w1 WHERE id > 100;;
SELECT id, name, price, ts, dt FROM w1;;
INSERT OVERWRITE w1 (id, dt, name) VALUES (20, 'd1', 'n');;
SELECT id, name, price, ts, dt FROM w1;;
INSERT OVERWRITE TABLE w1 PARTITION (dt = 'd9') IF NOT EXISTS SELECT 1, 'a', 1, 1;;
SELECT id, name, price, ts, dt FROM w1;;
RESET spark.sql.sources.partitionOverwriteMode;;
RESET hoodie.datasource.overwrite.mode;;
RESET hoodie.datasource.write.operation;;

-- group: overwrite of part of the partition columns
CREATE TABLE w2 (id INT, name STRING, ts BIGINT, dt STRING, hh STRING) USING hudi TBLPROPERTIES (type = 'mor', primaryKey = 'id') PARTITIONED BY (dt, hh);;
INSERT INTO w2 VALUES (0, 'a0', 1000, 'd5', '00'), (1, 'a1', 1000, 'd6', '00'), (2, 'a2', 1000, 'd6', '01');;
SET hoodie.datasource.overwrite.mode=dynamic;;
INSERT OVERWRITE TABLE w2 PARTITION (dt = 'd6', hh) VALUES (3, 'a3', 1000, '00'), (4, 'a4', 1000, '02');;
SELECT id, name, ts, dt, hh FROM w2;;
INSERT OVERWRITE TABLE w2 VALUES (5, 'a5', 1000, 'd6', '02');;
SELECT id, name, ts, dt, hh FROM w2;;
SET hoodie.datasource.overwrite.mode=static;;
INSERT OVERWRITE TABLE w2 PARTITION (dt = 'd6', hh) VALUES (6, 'a6', 1000, '00'), (7, 'a7', 1000, '02');;
SELECT id, name, ts, dt, hh FROM w2;;
INSERT OVERWRITE TABLE w2 PARTITION (dt, hh) VALUES (8, 'a8', 1000, 'd6', '00');;
SELECT id, name, ts, dt, hh FROM w2;;
INSERT OVERWRITE TABLE w2 VALUES (9, 'a9', 1000, 'd6', '02');;
SELECT id, name, ts, dt, hh FROM w2;;
SET hoodie.datasource.write.operation=insert_overwrite_table;;
INSERT OVERWRITE TABLE w2 PARTITION (dt = 'd7', hh) VALUES (10, 'a10', 1000, '00');;
SELECT id, name, ts, dt, hh FROM w2;;
RESET hoodie.datasource.overwrite.mode;;
RESET hoodie.datasource.write.operation;;

-- group: overwrite with bulk insert
SET hoodie.spark.sql.insert.into.operation=bulk_insert;;
CREATE TABLE w3 (id INT, name STRING, price DOUBLE, dt STRING) USING hudi TBLPROPERTIES (type = 'cow', primaryKey = 'id') PARTITIONED BY (dt);;
INSERT INTO w3 VALUES (3, 'c1', 13, 'd7');;
INSERT INTO w3 VALUES (1, 'a1', 10, 'd8');;
INSERT OVERWRITE TABLE w3 PARTITION (dt = 'd7') VALUES (2, 'b1', 11), (2, 'b2', 12);;
SELECT id, name, price, dt FROM w3;;
INSERT OVERWRITE TABLE w3 PARTITION (dt = 'd7') SELECT id, name, price FROM w3 WHERE false;;
SELECT id, name, price, dt FROM w3;;
INSERT OVERWRITE TABLE w3 VALUES (4, 'd1', 14, 'd9');;
SELECT id, name, price, dt FROM w3;;
INSERT OVERWRITE TABLE w3 SELECT * FROM w3 WHERE false;;
SELECT id, name, price, dt FROM w3;;
RESET hoodie.spark.sql.insert.into.operation;;

-- group: partition columns of types
CREATE TABLE p1 (id INT, name STRING, dt INT) USING hudi TBLPROPERTIES (primaryKey = 'id') PARTITIONED BY (dt);;
INSERT INTO p1 PARTITION (dt = 1000) SELECT 1, 'a1';;
INSERT OVERWRITE p1 PARTITION (dt = 1000) SELECT 1, 'a1';;
INSERT INTO p1 SELECT 2, 'a2', 1000;;
SELECT id, name, dt, _hoodie_partition_path FROM p1;;
CREATE TABLE p2 (id INT, name STRING, dt TIMESTAMP) USING hudi TBLPROPERTIES (primaryKey = 'id') PARTITIONED BY (dt);;
INSERT INTO p2 PARTITION (dt = '2022-05-20 00:00:00') SELECT 1, 'a1';;
INSERT OVERWRITE p2 PARTITION (dt = '2022-05-20 00:00:00') SELECT 1, 'a1';;
INSERT INTO p2 SELECT 2, 'a2', TIMESTAMP'2022-05-20 00:00:00';;
INSERT INTO p2 PARTITION (dt = TIMESTAMP'2022-05-21 01:02:03') SELECT 3, 'a1';;
SELECT id, name, CAST(dt AS STRING), _hoodie_partition_path FROM p2;;
CREATE TABLE p3 (id INT, name STRING, dt DATE) USING hudi TBLPROPERTIES (primaryKey = 'id', type = 'mor') PARTITIONED BY (dt);;
INSERT INTO p3 PARTITION (dt = '2022-05-20') SELECT 1, 'a1';;
INSERT OVERWRITE p3 PARTITION (dt = '2022-05-20') SELECT 1, 'a1';;
INSERT INTO p3 SELECT 2, 'a2', DATE'2022-05-20';;
SELECT id, name, CAST(dt AS STRING), _hoodie_partition_path FROM p3;;
CREATE TABLE p4 (id INT, b BOOLEAN, f FLOAT, y BYTE, s SHORT, d DECIMAL(10, 5), da DATE, st STRING, tt TIMESTAMP) USING hudi TBLPROPERTIES (primaryKey = 'id') PARTITIONED BY (b, f, y, s, d, da, st, tt);;
INSERT INTO p4 VALUES (1, TRUE, CAST(1.0 AS FLOAT), 1, 1, 1234.56789, DATE'2022-01-05', 'part1', TIMESTAMP'2022-01-05 10:00:00'), (2, FALSE, CAST(2.0 AS FLOAT), 2, 2, 6789.12345, DATE'2022-01-06', 'part2', TIMESTAMP'2022-01-06 11:00:00');;
SELECT id, b, f, y, s, d, da, st, CAST(tt AS STRING), _hoodie_partition_path FROM p4;;
SET hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled=true;;
CREATE TABLE p5 (id INT, name STRING, dt TIMESTAMP) USING hudi TBLPROPERTIES (primaryKey = 'id') PARTITIONED BY (dt);;
INSERT INTO p5 PARTITION (dt = '2022-05-20 00:00:00') SELECT 1, 'a1';;
INSERT OVERWRITE p5 PARTITION (dt = '2022-05-20 00:00:00') SELECT 1, 'a1';;
INSERT INTO p5 SELECT 2, 'a2', TIMESTAMP'2022-05-20 00:00:00';;
SELECT id, name, CAST(dt AS STRING), _hoodie_partition_path FROM p5;;
CREATE TABLE p6 (id INT, name STRING, dt STRING) USING hudi TBLPROPERTIES (primaryKey = 'id') PARTITIONED BY (dt);;
INSERT INTO p6 VALUES (1, 'n', NULL), (2, 'e', ''), (3, 's', 'a/b'), (4, 't', 'a=b c');;
SELECT id, name, dt, _hoodie_partition_path FROM p6;;
RESET hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled;;

-- group: errors of inserts
CREATE TABLE x1 (id INT, name STRING, price DOUBLE, dt STRING) USING hudi TBLPROPERTIES (primaryKey = 'id') PARTITIONED BY (dt);;
INSERT INTO x1 PARTITION (dt = 'd1') SELECT 1, 'a1', 10, 'd1';;
INSERT INTO x1 SELECT 1, 'a1', 10;;
INSERT INTO x1 (id, nope) VALUES (1, 2);;
INSERT INTO x1 (id, id) VALUES (1, 2);;
INSERT INTO x1 VALUES ('abc', 'n', 1.0, 'd');;
INSERT INTO x1 VALUES (99999999999, 'n', 1.0, 'd');;
INSERT INTO x1 VALUES (NULL, 'n', 1.0, 'd');;
INSERT INTO x1 VALUES (1, 5, 1.0, 7);;
INSERT INTO x1 VALUES (1.5, 'a', '2.5', 'd');;
INSERT INTO x1 VALUES (1, DATE'2024-01-01', true, 'd');;
SELECT id, name, price, dt FROM x1;;
SET hoodie.sql.bulk.insert.enable=true;;
SET hoodie.sql.insert.mode=strict;;
CREATE TABLE x2 (id INT, name STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts');;
INSERT INTO x2 VALUES (1, 'a', 10);;
RESET hoodie.sql.bulk.insert.enable;;
RESET hoodie.sql.insert.mode;;

-- group: nested keys
CREATE TABLE n1 (name STRING, price DOUBLE, ts BIGINT, box STRUCT<a1: STRING, a2: STRUCT<b1: STRING, b2: STRUCT<c1: STRING, c2: INT>>>) USING hudi OPTIONS (type = 'cow', primaryKey = 'box.a1', preCombineField = 'box.a2.b2.c2');;
INSERT INTO n1 VALUES ('n1', 10, 1000, struct('a', struct('b', struct('c', 999)))), ('n2', 20, 2000, struct('a', struct('b', struct('c', 333))));;
SELECT name, price, ts, box.a1, box.a2.b2.c2, _hoodie_record_key FROM n1;;
CREATE TABLE n2 (name STRING, price DOUBLE, ts BIGINT, box STRUCT<a1: STRING, a2: STRUCT<b1: STRING, b2: STRUCT<c1: STRING, c2: INT>>>) USING hudi OPTIONS (type = 'mor', primaryKey = 'box.a1', preCombineField = 'box.a2.b2.c2');;
INSERT INTO n2 VALUES ('n1', 10, 1000, struct('a', struct('b', struct('c', 999)))), ('n2', 20, 2000, struct('a', struct('b', struct('c', 333))));;
INSERT INTO n2 VALUES ('n3', 10, 1000, struct('a', struct('b', struct('c', 1000))));;
SELECT name, price, ts, box.a1, box.a2.b2.c2, _hoodie_record_key FROM n2;;

-- group: inserts without keys
CREATE TABLE y1 (id INT, dt STRING, name STRING, price DOUBLE, ts BIGINT) USING hudi PARTITIONED BY (dt);;
INSERT INTO y1 VALUES (1, 'a1', 10, 1000, 'd5'), (2, 'a2', 20, 2000, 'd6');;
SELECT id, name, price, ts, dt FROM y1;;
SET hoodie.spark.sql.insert.into.operation=insert;;
INSERT INTO y1 VALUES (1, 'a1', 10, 1000, 'd5');;
SET hoodie.spark.sql.insert.into.operation=upsert;;
INSERT INTO y1 VALUES (1, 'a1', 10, 1000, 'd5');;
SELECT id, name, price, ts, dt FROM y1;;
RESET hoodie.spark.sql.insert.into.operation;;
CREATE TABLE y2 (id INT, dt STRING, name STRING, price DOUBLE, ts BIGINT) USING hudi PARTITIONED BY (dt) TBLPROPERTIES (type = 'mor', preCombineField = 'price');;
INSERT INTO y2 VALUES (1, 'a1', 10, 1000, 'd5'), (1, 'a2', 20, 2000, 'd6');;
INSERT OVERWRITE y2 VALUES (3, 'a1', 10, 1000, 'd5');;
SELECT id, name, price, ts, dt FROM y2;;
RESET hoodie.spark.sql.insert.into.operation;;

-- group: bucket index and other properties
CREATE TABLE b1 (id STRING, name STRING, dt BIGINT, day STRING, hour INT) USING hudi TBLPROPERTIES (primaryKey = 'id', type = 'mor', preCombineField = 'dt', hoodie.index.type = 'BUCKET', hoodie.bucket.index.hash.field = 'id', hoodie.bucket.index.num.buckets = 4) PARTITIONED BY (day, hour);;
INSERT INTO b1 SELECT '1' AS id, 'aa' AS name, 123 AS dt, '2024-02-19' AS day, 10 AS hour;;
INSERT INTO b1 SELECT '1' AS id, 'bb' AS name, 124 AS dt, '2024-02-19' AS day, 10 AS hour;;
SELECT id, name, dt, day, hour FROM b1;;
CREATE TABLE b2 (id INT, name STRING) USING hudi TBLPROPERTIES (primaryKey = 'id', hoodie.index.type = 'BUCKET_x');;
CREATE TABLE b3 (id INT, name STRING, ts BIGINT, dt STRING) USING hudi PARTITIONED BY (dt) TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts', hoodie.datasource.write.drop.partition.columns = 'true');;
INSERT INTO b3 PARTITION (dt = 'd1') VALUES (1, 'a1', 1000);;
INSERT INTO b3 PARTITION (dt = 'd1') VALUES (2, 'a2', 1000);;
SELECT id, name, ts, dt FROM b3;;
CREATE TABLE b5 (id INT, m MAP<STRING, STRING>) USING hudi TBLPROPERTIES (primaryKey = 'id');;
INSERT INTO b5 VALUES (1, map('color', 'red')), (2, map('color', 'blue'));;
SELECT id FROM b5 WHERE m.color = 'red';;
CREATE TABLE spark_catalog.default.b6 (id INT, name STRING) USING hudi TBLPROPERTIES (primaryKey = 'id') LOCATION '${folder}/b6';;
INSERT INTO spark_catalog.default.b6 SELECT 1, 'x';;
SELECT id, name FROM spark_catalog.default.b6;;
DROP TABLE spark_catalog.default.b6;;
SET hoodie.datasource.write.commitmeta.key.prefix=my_meta_;;
SET my_meta_a=valA;;
INSERT INTO b5 VALUES (3, NULL);;
SELECT id, m FROM b5;;
SET spark.sql.caseSensitive=true;;
CREATE TABLE H_b7 (id INT, name STRING) USING hudi TBLPROPERTIES (primaryKey = 'id');;
INSERT INTO H_b7 VALUES (1, 'a');;
SELECT id, name FROM H_b7;;
RESET hoodie.datasource.write.commitmeta.key.prefix;;
RESET my_meta_a;;
RESET spark.sql.caseSensitive;;
