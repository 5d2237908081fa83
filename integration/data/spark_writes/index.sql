-- group: secondary and expression indexes (cow)
CREATE TABLE looked_up (id STRING, mail STRING, at BIGINT, n INT, p STRING) USING hudi PARTITIONED BY (p)
TBLPROPERTIES (type = 'cow', primaryKey = 'id', preCombineField = 'at', hoodie.metadata.enable = 'true', hoodie.metadata.record.index.enable = 'true');;
INSERT INTO looked_up VALUES ('k1', 'a@x', 1, 5, 'p1'), ('k2', 'b@x', 1, 6, 'p2'), ('k3', 'a@x', 1, 7, 'p1');;
CREATE INDEX idx_mail ON looked_up (mail);;
SHOW INDEXES FROM looked_up;;
SELECT id, mail FROM looked_up WHERE mail = 'a@x';;
INSERT INTO looked_up VALUES ('k4', 'a@x', 1, 8, 'p2');;
UPDATE looked_up SET mail = 'c@x', at = 2 WHERE id = 'k1';;
SELECT id, mail FROM looked_up WHERE mail = 'a@x';;
CREATE INDEX idx_day ON looked_up USING column_stats(at) OPTIONS (expr = 'from_unixtime', format = 'yyyy-MM-dd');;
SELECT id FROM looked_up WHERE from_unixtime(at, 'yyyy-MM-dd') = '1970-01-01';;
CREATE INDEX idx_mail ON looked_up (mail);;
CREATE INDEX IF NOT EXISTS idx_mail ON looked_up (mail);;
DROP INDEX idx_mail ON looked_up;;
SELECT id FROM looked_up WHERE mail = 'c@x';;
DROP INDEX idx_mail ON looked_up;;
DROP INDEX IF EXISTS idx_mail ON looked_up;;
CREATE INDEX idx_none ON looked_up (nosuch);;
DELETE FROM looked_up WHERE mail = 'a@x';;
SELECT id, mail, at, n, p FROM looked_up;;

-- group: the record index (mor)
CREATE TABLE by_record (id INT, v STRING, p STRING) USING hudi PARTITIONED BY (p) TBLPROPERTIES (type = 'mor', primaryKey = 'id', hoodie.metadata.record.index.enable = 'true', hoodie.index.type = 'RECORD_INDEX');;
INSERT INTO by_record VALUES (1, 'a', 'x'), (2, 'b', 'y');;
INSERT INTO by_record VALUES (1, 'moved', 'y');;
SELECT id, v, p FROM by_record;;
UPDATE by_record SET v = 'set' WHERE id = 2;;
DELETE FROM by_record WHERE id = 1;;
SELECT id, v, p FROM by_record WHERE id IN (1, 2);;

-- group: bucket index (mor)
CREATE TABLE by_bucket (id INT, v STRING) USING hudi TBLPROPERTIES (type = 'mor', primaryKey = 'id', hoodie.index.type = 'BUCKET', hoodie.bucket.index.num.buckets = '3', hoodie.bucket.index.hash.field = 'id');;
INSERT INTO by_bucket VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd');;
UPDATE by_bucket SET v = upper(v) WHERE id > 2;;
DELETE FROM by_bucket WHERE id = 1;;
SELECT id, v FROM by_bucket;;

-- group: keys in two partitions under a global index (cow)
CREATE TABLE doubled (id INT, v STRING, p STRING) USING hudi PARTITIONED BY (p) TBLPROPERTIES (type = 'cow', primaryKey = 'id', hoodie.metadata.record.index.enable = 'true', hoodie.index.type = 'RECORD_INDEX');;
INSERT INTO doubled VALUES (1, 'a', 'x'), (2, 'b', 'y'), (3, 'c', 'x');;
INSERT INTO doubled VALUES (1, 'again', 'y'), (3, 'again', 'y');;
DELETE FROM doubled WHERE p = 'x' AND v = 'a';;
SELECT id, v, p FROM doubled;;
DELETE FROM doubled WHERE id = 3;;
SELECT id, v, p FROM doubled;;
DELETE FROM doubled WHERE id = 99;;
INSERT INTO doubled VALUES (3, 'back', 'z');;
SELECT id, v, p FROM doubled;;
