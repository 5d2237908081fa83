-- group: time travel by statement (cow)
CREATE TABLE past (id INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (type = 'cow', primaryKey = 'id', preCombineField = 'ts');;
INSERT INTO past VALUES (1, 'a', 1), (2, 'b', 1);;
UPDATE past SET v = 'aa' WHERE id = 1;;
DELETE FROM past WHERE id = 2;;
INSERT INTO past VALUES (3, 'c', 1);;
SELECT id, v FROM past TIMESTAMP AS OF '${completed:past:1}';;
SELECT id, v FROM past TIMESTAMP AS OF '${completed:past:2}';;
SELECT id, v FROM past FOR TIMESTAMP AS OF '${completed:past:3}' WHERE id < 3;;
SELECT id, v FROM past VERSION AS OF '${completed:past:4}';;
SELECT n.id, o.v, n.v FROM past n JOIN past TIMESTAMP AS OF '${completed:past:1}' o ON n.id = o.id;;
INSERT INTO past SELECT id, v, ts + 1 FROM past TIMESTAMP AS OF '${completed:past:1}' WHERE id = 2;;
SELECT id, v FROM past;;
MERGE INTO past t USING (SELECT id, v, ts FROM past TIMESTAMP AS OF '${completed:past:1}') s ON t.id = s.id WHEN MATCHED AND t.id = 1 THEN UPDATE SET v = s.v, ts = s.ts + 5;;
SELECT id, v FROM past;;
SELECT id, v FROM past TIMESTAMP AS OF '1999-01-01';;
SELECT id, v FROM past TIMESTAMP AS OF 'not a time';;

-- group: time travel with partitions (mor)
CREATE TABLE old_parts (id INT, v STRING, p STRING) USING hudi PARTITIONED BY (p) TBLPROPERTIES (type = 'mor', primaryKey = 'id');;
INSERT INTO old_parts VALUES (1, 'a', 'x'), (2, 'b', 'y');;
INSERT OVERWRITE old_parts PARTITION (p = 'x') VALUES (9, 'z');;
UPDATE old_parts SET v = concat(v, '+');;
SELECT id, v, p FROM old_parts TIMESTAMP AS OF '${completed:old_parts:1}';;
SELECT id, v, p FROM old_parts TIMESTAMP AS OF '${completed:old_parts:2}';;
SELECT id, v, p FROM old_parts;;
CREATE TABLE rescued USING hudi TBLPROPERTIES (type = 'mor', primaryKey = 'id') AS SELECT id, v, p FROM old_parts TIMESTAMP AS OF '${completed:old_parts:1}';;
SELECT id, v, p FROM rescued;;

-- group: moments around added columns (mor)
CREATE TABLE grown (id INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (type = 'mor', primaryKey = 'id', preCombineField = 'ts');;
INSERT INTO grown VALUES (1, 'a', 1), (2, 'b', 1);;
ALTER TABLE grown ADD COLUMNS (extra INT);;
INSERT INTO grown VALUES (3, 'c', 1, 33);;
DELETE FROM grown WHERE id = 1;;
SELECT count(*) FROM grown TIMESTAMP AS OF '${completed:grown:1}';;
SELECT id, v FROM grown TIMESTAMP AS OF '${completed:grown:1}';;
SELECT id, v FROM (SELECT * FROM grown TIMESTAMP AS OF '2999-12-31') WHERE id <> 2;;
WITH earlier AS (SELECT id, v FROM grown TIMESTAMP AS OF '${completed:grown:1}') SELECT e.id FROM earlier e LEFT ANTI JOIN grown g ON e.id = g.id;;
SELECT id, v FROM grown TIMESTAMP AS OF '2999-12-31 10:11:12.123';;
SELECT id FROM nosuch_table TIMESTAMP AS OF '2999-12-31';;
