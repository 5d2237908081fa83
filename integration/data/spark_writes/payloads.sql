-- Payload classes and merge modes as properties of tables: which row of a key stays, and what of it.

-- group: PartialUpdateAvroPayload (cow)
CREATE TABLE partial (id INT, name STRING, price DOUBLE, n INT, ts BIGINT) USING hudi
TBLPROPERTIES (type = 'cow', primaryKey = 'id', preCombineField = 'ts', payloadClass = 'org.apache.hudi.common.model.PartialUpdateAvroPayload');;
INSERT INTO partial VALUES (1, 'one', 1.5, 1, 100), (2, 'two', 2.5, 2, 100), (3, 'three', 3.5, 3, 100), (4, 'four', NULL, 4, 100),
  (5, 'five', 5.5, 5, 100);;
SELECT id, name, price, n, ts FROM partial;;
INSERT INTO partial VALUES (1, 'late', 9.5, 9, 50), (2, NULL, 8.5, 0, 200), (6, 'six', 6.5, 6, 100);;
SELECT id, name, price, n, ts FROM partial;;
UPDATE partial SET name = 'upd', price = NULL WHERE id IN (1, 3);;
UPDATE partial SET n = n + 10, ts = 90 WHERE id = 3;;
UPDATE partial SET price = 40.5, ts = 300 WHERE id = 4;;
SELECT id, name, price, n, ts FROM partial;;
MERGE INTO partial t USING (SELECT 5 AS id, 'merged' AS name, 55.5D AS price, 60L AS ts UNION ALL SELECT 2, NULL, NULL, 250L
  UNION ALL SELECT 7, 'seven', 7.5D, 100L) s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.name, price = s.price, ts = s.ts
WHEN NOT MATCHED THEN INSERT (id, name, price, ts) VALUES (s.id, s.name, s.price, s.ts);;
SELECT id, name, price, n, ts FROM partial;;
MERGE INTO partial t USING (SELECT 6 AS id, 10L AS ts UNION ALL SELECT 1, 900L) s ON t.id = s.id
WHEN MATCHED AND s.ts < 20 THEN DELETE WHEN MATCHED THEN UPDATE SET n = 77, ts = s.ts;;
DELETE FROM partial WHERE id = 2;;
SELECT id, name, price, n, ts FROM partial;;
INSERT INTO partial VALUES (2, 'again', 2.5, 2, 1);;
SELECT id, name, price, n, ts FROM partial;;
CALL run_compaction(op => 'scheduleAndExecute', table => 'partial', options => 'hoodie.compact.inline.max.delta.commits=1');;
SELECT id, name, price, n, ts FROM partial;;

-- group: PartialUpdateAvroPayload (mor)
CREATE TABLE partial (id INT, name STRING, price DOUBLE, n INT, ts BIGINT) USING hudi
TBLPROPERTIES (type = 'mor', primaryKey = 'id', preCombineField = 'ts', payloadClass = 'org.apache.hudi.common.model.PartialUpdateAvroPayload');;
INSERT INTO partial VALUES (1, 'one', 1.5, 1, 100), (2, 'two', 2.5, 2, 100), (3, 'three', 3.5, 3, 100), (4, 'four', NULL, 4, 100),
  (5, 'five', 5.5, 5, 100);;
SELECT id, name, price, n, ts FROM partial;;
INSERT INTO partial VALUES (1, 'late', 9.5, 9, 50), (2, NULL, 8.5, 0, 200), (6, 'six', 6.5, 6, 100);;
SELECT id, name, price, n, ts FROM partial;;
UPDATE partial SET name = 'upd', price = NULL WHERE id IN (1, 3);;
UPDATE partial SET n = n + 10, ts = 90 WHERE id = 3;;
UPDATE partial SET price = 40.5, ts = 300 WHERE id = 4;;
SELECT id, name, price, n, ts FROM partial;;
MERGE INTO partial t USING (SELECT 5 AS id, 'merged' AS name, 55.5D AS price, 60L AS ts UNION ALL SELECT 2, NULL, NULL, 250L
  UNION ALL SELECT 7, 'seven', 7.5D, 100L) s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET id = s.id, name = s.name, price = s.price, ts = s.ts
WHEN NOT MATCHED THEN INSERT (id, name, price, ts) VALUES (s.id, s.name, s.price, s.ts);;
SELECT id, name, price, n, ts FROM partial;;
MERGE INTO partial t USING (SELECT 6 AS id, 10L AS ts UNION ALL SELECT 1, 900L) s ON t.id = s.id
WHEN MATCHED AND s.ts < 20 THEN DELETE WHEN MATCHED THEN UPDATE SET id = s.id, n = 77, ts = s.ts;;
DELETE FROM partial WHERE id = 2;;
SELECT id, name, price, n, ts FROM partial;;
INSERT INTO partial VALUES (2, 'again', 2.5, 2, 1);;
SELECT id, name, price, n, ts FROM partial;;
CALL run_compaction(op => 'scheduleAndExecute', table => 'partial', options => 'hoodie.compact.inline.max.delta.commits=1');;
SELECT id, name, price, n, ts FROM partial;;

-- group: OverwriteNonDefaultsWithLatestAvroPayload (cow)
CREATE TABLE nondefault (id INT, name STRING, price DOUBLE, n INT, ts BIGINT) USING hudi
TBLPROPERTIES (type = 'cow', primaryKey = 'id', preCombineField = 'ts', payloadClass = 'org.apache.hudi.common.model.OverwriteNonDefaultsWithLatestAvroPayload');;
INSERT INTO nondefault VALUES (1, 'one', 1.5, 1, 100), (2, 'two', 2.5, 2, 100), (3, 'three', 3.5, 3, 100), (4, 'four', NULL, 4, 100),
  (5, 'five', 5.5, 5, 100);;
SELECT id, name, price, n, ts FROM nondefault;;
INSERT INTO nondefault VALUES (1, 'late', 9.5, 9, 50), (2, NULL, 8.5, 0, 200), (6, 'six', 6.5, 6, 100);;
SELECT id, name, price, n, ts FROM nondefault;;
UPDATE nondefault SET name = 'upd', price = NULL WHERE id IN (1, 3);;
UPDATE nondefault SET n = n + 10, ts = 90 WHERE id = 3;;
UPDATE nondefault SET price = 40.5, ts = 300 WHERE id = 4;;
SELECT id, name, price, n, ts FROM nondefault;;
MERGE INTO nondefault t USING (SELECT 5 AS id, 'merged' AS name, 55.5D AS price, 60L AS ts UNION ALL SELECT 2, NULL, NULL, 250L
  UNION ALL SELECT 7, 'seven', 7.5D, 100L) s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.name, price = s.price, ts = s.ts
WHEN NOT MATCHED THEN INSERT (id, name, price, ts) VALUES (s.id, s.name, s.price, s.ts);;
SELECT id, name, price, n, ts FROM nondefault;;
MERGE INTO nondefault t USING (SELECT 6 AS id, 10L AS ts UNION ALL SELECT 1, 900L) s ON t.id = s.id
WHEN MATCHED AND s.ts < 20 THEN DELETE WHEN MATCHED THEN UPDATE SET n = 77, ts = s.ts;;
DELETE FROM nondefault WHERE id = 2;;
SELECT id, name, price, n, ts FROM nondefault;;
INSERT INTO nondefault VALUES (2, 'again', 2.5, 2, 1);;
SELECT id, name, price, n, ts FROM nondefault;;
CALL run_compaction(op => 'scheduleAndExecute', table => 'nondefault', options => 'hoodie.compact.inline.max.delta.commits=1');;
SELECT id, name, price, n, ts FROM nondefault;;

-- group: OverwriteNonDefaultsWithLatestAvroPayload (mor)
CREATE TABLE nondefault (id INT, name STRING, price DOUBLE, n INT, ts BIGINT) USING hudi
TBLPROPERTIES (type = 'mor', primaryKey = 'id', preCombineField = 'ts', payloadClass = 'org.apache.hudi.common.model.OverwriteNonDefaultsWithLatestAvroPayload');;
INSERT INTO nondefault VALUES (1, 'one', 1.5, 1, 100), (2, 'two', 2.5, 2, 100), (3, 'three', 3.5, 3, 100), (4, 'four', NULL, 4, 100),
  (5, 'five', 5.5, 5, 100);;
SELECT id, name, price, n, ts FROM nondefault;;
INSERT INTO nondefault VALUES (1, 'late', 9.5, 9, 50), (2, NULL, 8.5, 0, 200), (6, 'six', 6.5, 6, 100);;
SELECT id, name, price, n, ts FROM nondefault;;
UPDATE nondefault SET name = 'upd', price = NULL WHERE id IN (1, 3);;
UPDATE nondefault SET n = n + 10, ts = 90 WHERE id = 3;;
UPDATE nondefault SET price = 40.5, ts = 300 WHERE id = 4;;
SELECT id, name, price, n, ts FROM nondefault;;
MERGE INTO nondefault t USING (SELECT 5 AS id, 'merged' AS name, 55.5D AS price, 60L AS ts UNION ALL SELECT 2, NULL, NULL, 250L
  UNION ALL SELECT 7, 'seven', 7.5D, 100L) s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET id = s.id, name = s.name, price = s.price, ts = s.ts
WHEN NOT MATCHED THEN INSERT (id, name, price, ts) VALUES (s.id, s.name, s.price, s.ts);;
SELECT id, name, price, n, ts FROM nondefault;;
MERGE INTO nondefault t USING (SELECT 6 AS id, 10L AS ts UNION ALL SELECT 1, 900L) s ON t.id = s.id
WHEN MATCHED AND s.ts < 20 THEN DELETE WHEN MATCHED THEN UPDATE SET id = s.id, n = 77, ts = s.ts;;
DELETE FROM nondefault WHERE id = 2;;
SELECT id, name, price, n, ts FROM nondefault;;
INSERT INTO nondefault VALUES (2, 'again', 2.5, 2, 1);;
SELECT id, name, price, n, ts FROM nondefault;;
CALL run_compaction(op => 'scheduleAndExecute', table => 'nondefault', options => 'hoodie.compact.inline.max.delta.commits=1');;
SELECT id, name, price, n, ts FROM nondefault;;

-- group: EventTimeAvroPayload (cow)
CREATE TABLE event (id INT, name STRING, price DOUBLE, n INT, ts BIGINT) USING hudi
TBLPROPERTIES (type = 'cow', primaryKey = 'id', preCombineField = 'ts', payloadClass = 'org.apache.hudi.common.model.EventTimeAvroPayload');;
INSERT INTO event VALUES (1, 'one', 1.5, 1, 100), (2, 'two', 2.5, 2, 100), (3, 'three', 3.5, 3, 100), (4, 'four', NULL, 4, 100),
  (5, 'five', 5.5, 5, 100);;
SELECT id, name, price, n, ts FROM event;;
INSERT INTO event VALUES (1, 'late', 9.5, 9, 50), (2, NULL, 8.5, 0, 200), (6, 'six', 6.5, 6, 100);;
SELECT id, name, price, n, ts FROM event;;
UPDATE event SET name = 'upd', price = NULL WHERE id IN (1, 3);;
UPDATE event SET n = n + 10, ts = 90 WHERE id = 3;;
UPDATE event SET price = 40.5, ts = 300 WHERE id = 4;;
SELECT id, name, price, n, ts FROM event;;
MERGE INTO event t USING (SELECT 5 AS id, 'merged' AS name, 55.5D AS price, 60L AS ts UNION ALL SELECT 2, NULL, NULL, 250L
  UNION ALL SELECT 7, 'seven', 7.5D, 100L) s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.name, price = s.price, ts = s.ts
WHEN NOT MATCHED THEN INSERT (id, name, price, ts) VALUES (s.id, s.name, s.price, s.ts);;
SELECT id, name, price, n, ts FROM event;;
MERGE INTO event t USING (SELECT 6 AS id, 10L AS ts UNION ALL SELECT 1, 900L) s ON t.id = s.id
WHEN MATCHED AND s.ts < 20 THEN DELETE WHEN MATCHED THEN UPDATE SET n = 77, ts = s.ts;;
DELETE FROM event WHERE id = 2;;
SELECT id, name, price, n, ts FROM event;;
INSERT INTO event VALUES (2, 'again', 2.5, 2, 1);;
SELECT id, name, price, n, ts FROM event;;
CALL run_compaction(op => 'scheduleAndExecute', table => 'event', options => 'hoodie.compact.inline.max.delta.commits=1');;
SELECT id, name, price, n, ts FROM event;;

-- group: EventTimeAvroPayload (mor)
CREATE TABLE event (id INT, name STRING, price DOUBLE, n INT, ts BIGINT) USING hudi
TBLPROPERTIES (type = 'mor', primaryKey = 'id', preCombineField = 'ts', payloadClass = 'org.apache.hudi.common.model.EventTimeAvroPayload');;
INSERT INTO event VALUES (1, 'one', 1.5, 1, 100), (2, 'two', 2.5, 2, 100), (3, 'three', 3.5, 3, 100), (4, 'four', NULL, 4, 100),
  (5, 'five', 5.5, 5, 100);;
SELECT id, name, price, n, ts FROM event;;
INSERT INTO event VALUES (1, 'late', 9.5, 9, 50), (2, NULL, 8.5, 0, 200), (6, 'six', 6.5, 6, 100);;
SELECT id, name, price, n, ts FROM event;;
UPDATE event SET name = 'upd', price = NULL WHERE id IN (1, 3);;
UPDATE event SET n = n + 10, ts = 90 WHERE id = 3;;
UPDATE event SET price = 40.5, ts = 300 WHERE id = 4;;
SELECT id, name, price, n, ts FROM event;;
MERGE INTO event t USING (SELECT 5 AS id, 'merged' AS name, 55.5D AS price, 60L AS ts UNION ALL SELECT 2, NULL, NULL, 250L
  UNION ALL SELECT 7, 'seven', 7.5D, 100L) s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET id = s.id, name = s.name, price = s.price, ts = s.ts
WHEN NOT MATCHED THEN INSERT (id, name, price, ts) VALUES (s.id, s.name, s.price, s.ts);;
SELECT id, name, price, n, ts FROM event;;
MERGE INTO event t USING (SELECT 6 AS id, 10L AS ts UNION ALL SELECT 1, 900L) s ON t.id = s.id
WHEN MATCHED AND s.ts < 20 THEN DELETE WHEN MATCHED THEN UPDATE SET id = s.id, n = 77, ts = s.ts;;
DELETE FROM event WHERE id = 2;;
SELECT id, name, price, n, ts FROM event;;
INSERT INTO event VALUES (2, 'again', 2.5, 2, 1);;
SELECT id, name, price, n, ts FROM event;;
CALL run_compaction(op => 'scheduleAndExecute', table => 'event', options => 'hoodie.compact.inline.max.delta.commits=1');;
SELECT id, name, price, n, ts FROM event;;

-- group: AWSDmsAvroPayload (cow)
CREATE TABLE dms (id INT, name STRING, price DOUBLE, n INT, ts BIGINT, Op STRING) USING hudi
TBLPROPERTIES (type = 'cow', primaryKey = 'id', preCombineField = 'ts', payloadClass = 'org.apache.hudi.common.model.AWSDmsAvroPayload');;
INSERT INTO dms VALUES (1, 'one', 1.5, 1, 100, 'I'), (2, 'two', 2.5, 2, 100, 'I'), (3, 'three', 3.5, 3, 100, 'I'), (4, 'four', NULL, 4, 100, 'I'),
  (5, 'five', 5.5, 5, 100, 'I');;
SELECT id, name, price, n, ts, Op FROM dms;;
INSERT INTO dms VALUES (1, 'late', 9.5, 9, 50, 'U'), (2, NULL, 8.5, 0, 200, 'U'), (6, 'six', 6.5, 6, 100, 'I');;
SELECT id, name, price, n, ts, Op FROM dms;;
UPDATE dms SET name = 'upd', price = NULL WHERE id IN (1, 3);;
UPDATE dms SET n = n + 10, ts = 90 WHERE id = 3;;
UPDATE dms SET price = 40.5, ts = 300 WHERE id = 4;;
SELECT id, name, price, n, ts, Op FROM dms;;
MERGE INTO dms t USING (SELECT 5 AS id, 'merged' AS name, 55.5D AS price, 60L AS ts UNION ALL SELECT 2, NULL, NULL, 250L
  UNION ALL SELECT 7, 'seven', 7.5D, 100L) s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.name, price = s.price, ts = s.ts
WHEN NOT MATCHED THEN INSERT (id, name, price, ts) VALUES (s.id, s.name, s.price, s.ts);;
SELECT id, name, price, n, ts, Op FROM dms;;
INSERT INTO dms VALUES (3, 'three', 3.5, 3, 400, 'D'), (9, 'nine', 9.5, 9, 400, 'D');;
SELECT id, name, price, n, ts, Op FROM dms;;
UPDATE dms SET Op = 'D', ts = 500 WHERE id = 4;;
SELECT id, name, price, n, ts, Op FROM dms;;
MERGE INTO dms t USING (SELECT 6 AS id, 10L AS ts UNION ALL SELECT 1, 900L) s ON t.id = s.id
WHEN MATCHED AND s.ts < 20 THEN DELETE WHEN MATCHED THEN UPDATE SET n = 77, ts = s.ts;;
DELETE FROM dms WHERE id = 2;;
SELECT id, name, price, n, ts, Op FROM dms;;
INSERT INTO dms VALUES (2, 'again', 2.5, 2, 1, 'I');;
SELECT id, name, price, n, ts, Op FROM dms;;
CALL run_compaction(op => 'scheduleAndExecute', table => 'dms', options => 'hoodie.compact.inline.max.delta.commits=1');;
SELECT id, name, price, n, ts, Op FROM dms;;

-- group: AWSDmsAvroPayload (mor)
CREATE TABLE dms (id INT, name STRING, price DOUBLE, n INT, ts BIGINT, Op STRING) USING hudi
TBLPROPERTIES (type = 'mor', primaryKey = 'id', preCombineField = 'ts', payloadClass = 'org.apache.hudi.common.model.AWSDmsAvroPayload');;
INSERT INTO dms VALUES (1, 'one', 1.5, 1, 100, 'I'), (2, 'two', 2.5, 2, 100, 'I'), (3, 'three', 3.5, 3, 100, 'I'), (4, 'four', NULL, 4, 100, 'I'),
  (5, 'five', 5.5, 5, 100, 'I');;
SELECT id, name, price, n, ts, Op FROM dms;;
INSERT INTO dms VALUES (1, 'late', 9.5, 9, 50, 'U'), (2, NULL, 8.5, 0, 200, 'U'), (6, 'six', 6.5, 6, 100, 'I');;
SELECT id, name, price, n, ts, Op FROM dms;;
UPDATE dms SET name = 'upd', price = NULL WHERE id IN (1, 3);;
UPDATE dms SET n = n + 10, ts = 90 WHERE id = 3;;
UPDATE dms SET price = 40.5, ts = 300 WHERE id = 4;;
SELECT id, name, price, n, ts, Op FROM dms;;
MERGE INTO dms t USING (SELECT 5 AS id, 'merged' AS name, 55.5D AS price, 60L AS ts UNION ALL SELECT 2, NULL, NULL, 250L
  UNION ALL SELECT 7, 'seven', 7.5D, 100L) s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET id = s.id, name = s.name, price = s.price, ts = s.ts
WHEN NOT MATCHED THEN INSERT (id, name, price, ts) VALUES (s.id, s.name, s.price, s.ts);;
SELECT id, name, price, n, ts, Op FROM dms;;
INSERT INTO dms VALUES (3, 'three', 3.5, 3, 400, 'D'), (9, 'nine', 9.5, 9, 400, 'D');;
SELECT id, name, price, n, ts, Op FROM dms;;
UPDATE dms SET Op = 'D', ts = 500 WHERE id = 4;;
SELECT id, name, price, n, ts, Op FROM dms;;
MERGE INTO dms t USING (SELECT 6 AS id, 10L AS ts UNION ALL SELECT 1, 900L) s ON t.id = s.id
WHEN MATCHED AND s.ts < 20 THEN DELETE WHEN MATCHED THEN UPDATE SET id = s.id, n = 77, ts = s.ts;;
DELETE FROM dms WHERE id = 2;;
SELECT id, name, price, n, ts, Op FROM dms;;
INSERT INTO dms VALUES (2, 'again', 2.5, 2, 1, 'I');;
SELECT id, name, price, n, ts, Op FROM dms;;
CALL run_compaction(op => 'scheduleAndExecute', table => 'dms', options => 'hoodie.compact.inline.max.delta.commits=1');;
SELECT id, name, price, n, ts, Op FROM dms;;

-- group: COMMIT_TIME_ORDERING (cow)
CREATE TABLE commit (id INT, name STRING, price DOUBLE, n INT, ts BIGINT) USING hudi
TBLPROPERTIES (type = 'cow', primaryKey = 'id', preCombineField = 'ts', recordMergeMode = 'COMMIT_TIME_ORDERING');;
INSERT INTO commit VALUES (1, 'one', 1.5, 1, 100), (2, 'two', 2.5, 2, 100), (3, 'three', 3.5, 3, 100), (4, 'four', NULL, 4, 100),
  (5, 'five', 5.5, 5, 100);;
SELECT id, name, price, n, ts FROM commit;;
INSERT INTO commit VALUES (1, 'late', 9.5, 9, 50), (2, NULL, 8.5, 0, 200), (6, 'six', 6.5, 6, 100);;
SELECT id, name, price, n, ts FROM commit;;
UPDATE commit SET name = 'upd', price = NULL WHERE id IN (1, 3);;
UPDATE commit SET n = n + 10, ts = 90 WHERE id = 3;;
UPDATE commit SET price = 40.5, ts = 300 WHERE id = 4;;
SELECT id, name, price, n, ts FROM commit;;
MERGE INTO commit t USING (SELECT 5 AS id, 'merged' AS name, 55.5D AS price, 60L AS ts UNION ALL SELECT 2, NULL, NULL, 250L
  UNION ALL SELECT 7, 'seven', 7.5D, 100L) s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.name, price = s.price, ts = s.ts
WHEN NOT MATCHED THEN INSERT (id, name, price, ts) VALUES (s.id, s.name, s.price, s.ts);;
SELECT id, name, price, n, ts FROM commit;;
MERGE INTO commit t USING (SELECT 6 AS id, 10L AS ts UNION ALL SELECT 1, 900L) s ON t.id = s.id
WHEN MATCHED AND s.ts < 20 THEN DELETE WHEN MATCHED THEN UPDATE SET n = 77, ts = s.ts;;
DELETE FROM commit WHERE id = 2;;
SELECT id, name, price, n, ts FROM commit;;
INSERT INTO commit VALUES (2, 'again', 2.5, 2, 1);;
SELECT id, name, price, n, ts FROM commit;;
CALL run_compaction(op => 'scheduleAndExecute', table => 'commit', options => 'hoodie.compact.inline.max.delta.commits=1');;
SELECT id, name, price, n, ts FROM commit;;

-- group: EVENT_TIME_ORDERING (cow)
CREATE TABLE event (id INT, name STRING, price DOUBLE, n INT, ts BIGINT) USING hudi
TBLPROPERTIES (type = 'cow', primaryKey = 'id', preCombineField = 'ts', recordMergeMode = 'EVENT_TIME_ORDERING');;
INSERT INTO event VALUES (1, 'one', 1.5, 1, 100), (2, 'two', 2.5, 2, 100), (3, 'three', 3.5, 3, 100), (4, 'four', NULL, 4, 100),
  (5, 'five', 5.5, 5, 100);;
SELECT id, name, price, n, ts FROM event;;
INSERT INTO event VALUES (1, 'late', 9.5, 9, 50), (2, NULL, 8.5, 0, 200), (6, 'six', 6.5, 6, 100);;
SELECT id, name, price, n, ts FROM event;;
UPDATE event SET name = 'upd', price = NULL WHERE id IN (1, 3);;
UPDATE event SET n = n + 10, ts = 90 WHERE id = 3;;
UPDATE event SET price = 40.5, ts = 300 WHERE id = 4;;
SELECT id, name, price, n, ts FROM event;;
MERGE INTO event t USING (SELECT 5 AS id, 'merged' AS name, 55.5D AS price, 60L AS ts UNION ALL SELECT 2, NULL, NULL, 250L
  UNION ALL SELECT 7, 'seven', 7.5D, 100L) s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.name, price = s.price, ts = s.ts
WHEN NOT MATCHED THEN INSERT (id, name, price, ts) VALUES (s.id, s.name, s.price, s.ts);;
SELECT id, name, price, n, ts FROM event;;
MERGE INTO event t USING (SELECT 6 AS id, 10L AS ts UNION ALL SELECT 1, 900L) s ON t.id = s.id
WHEN MATCHED AND s.ts < 20 THEN DELETE WHEN MATCHED THEN UPDATE SET n = 77, ts = s.ts;;
DELETE FROM event WHERE id = 2;;
SELECT id, name, price, n, ts FROM event;;
INSERT INTO event VALUES (2, 'again', 2.5, 2, 1);;
SELECT id, name, price, n, ts FROM event;;
CALL run_compaction(op => 'scheduleAndExecute', table => 'event', options => 'hoodie.compact.inline.max.delta.commits=1');;
SELECT id, name, price, n, ts FROM event;;

-- group: CUSTOM (cow)
CREATE TABLE custom (id INT, name STRING, price DOUBLE, n INT, ts BIGINT) USING hudi
TBLPROPERTIES (type = 'cow', primaryKey = 'id', preCombineField = 'ts', recordMergeMode = 'CUSTOM');;
INSERT INTO custom VALUES (1, 'one', 1.5, 1, 100), (2, 'two', 2.5, 2, 100), (3, 'three', 3.5, 3, 100), (4, 'four', NULL, 4, 100),
  (5, 'five', 5.5, 5, 100);;
SELECT id, name, price, n, ts FROM custom;;
INSERT INTO custom VALUES (1, 'late', 9.5, 9, 50), (2, NULL, 8.5, 0, 200), (6, 'six', 6.5, 6, 100);;
SELECT id, name, price, n, ts FROM custom;;
UPDATE custom SET name = 'upd', price = NULL WHERE id IN (1, 3);;
UPDATE custom SET n = n + 10, ts = 90 WHERE id = 3;;
UPDATE custom SET price = 40.5, ts = 300 WHERE id = 4;;
SELECT id, name, price, n, ts FROM custom;;
MERGE INTO custom t USING (SELECT 5 AS id, 'merged' AS name, 55.5D AS price, 60L AS ts UNION ALL SELECT 2, NULL, NULL, 250L
  UNION ALL SELECT 7, 'seven', 7.5D, 100L) s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.name, price = s.price, ts = s.ts
WHEN NOT MATCHED THEN INSERT (id, name, price, ts) VALUES (s.id, s.name, s.price, s.ts);;
SELECT id, name, price, n, ts FROM custom;;
MERGE INTO custom t USING (SELECT 6 AS id, 10L AS ts UNION ALL SELECT 1, 900L) s ON t.id = s.id
WHEN MATCHED AND s.ts < 20 THEN DELETE WHEN MATCHED THEN UPDATE SET n = 77, ts = s.ts;;
DELETE FROM custom WHERE id = 2;;
SELECT id, name, price, n, ts FROM custom;;
INSERT INTO custom VALUES (2, 'again', 2.5, 2, 1);;
SELECT id, name, price, n, ts FROM custom;;
CALL run_compaction(op => 'scheduleAndExecute', table => 'custom', options => 'hoodie.compact.inline.max.delta.commits=1');;
SELECT id, name, price, n, ts FROM custom;;
