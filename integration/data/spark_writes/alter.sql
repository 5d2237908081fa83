-- group: alter columns (cow)
CREATE TABLE grown (id INT, name STRING, n INT, ts BIGINT, p STRING) USING hudi PARTITIONED BY (p) TBLPROPERTIES (type = 'cow', primaryKey = 'id', preCombineField = 'ts');;
INSERT INTO grown VALUES (1, 'a', 1, 1, 'x');;
ALTER TABLE grown ADD COLUMNS (extra STRING COMMENT 'more', amount DOUBLE);;
SELECT id, name, n, ts, extra, amount, p FROM grown;;
INSERT INTO grown (id, name, n, ts, extra, amount, p) VALUES (2, 'b', 2, 1, 'e', 2.5, 'y');;
SELECT id, name, n, ts, extra, amount, p FROM grown;;
ALTER TABLE grown ADD COLUMNS (extra STRING);;
DESCRIBE grown;;
UPDATE grown SET extra = 'set' WHERE id = 1;;
SELECT id, extra, amount FROM grown;;

-- group: alter with schema on read (cow)
SET hoodie.schema.on.read.enable = true;;
CREATE TABLE shaped (id INT, name STRING, n INT, f FLOAT, old STRING, ts BIGINT) USING hudi TBLPROPERTIES (type = 'cow', primaryKey = 'id', preCombineField = 'ts');;
INSERT INTO shaped VALUES (1, 'a', 1, 1.5, 'o', 1);;
ALTER TABLE shaped ALTER COLUMN n TYPE BIGINT;;
ALTER TABLE shaped ALTER COLUMN f TYPE DOUBLE;;
ALTER TABLE shaped RENAME COLUMN name TO title;;
ALTER TABLE shaped DROP COLUMN old;;
SELECT id, title, n, f, ts FROM shaped;;
INSERT INTO shaped (id, title, n, f, ts) VALUES (2, 'b', 9999999999, 2.5, 1);;
SELECT id, title, n, f, ts FROM shaped;;
ALTER TABLE shaped ADD COLUMNS (mid STRING AFTER id);;
ALTER TABLE shaped ALTER COLUMN title COMMENT 'said';;
ALTER TABLE shaped ALTER COLUMN title AFTER n;;
ALTER TABLE shaped ALTER COLUMN n TYPE INT;;
ALTER TABLE shaped DROP COLUMN nosuch;;
ALTER TABLE shaped RENAME COLUMN id TO ident;;
SELECT id, mid, title, n FROM shaped;;

-- group: alter properties and names (mor)
CREATE TABLE labelled (id INT, v STRING) USING hudi TBLPROPERTIES (type = 'mor', primaryKey = 'id');;
ALTER TABLE labelled SET TBLPROPERTIES (colour = 'red', hoodie.keep.max.commits = '50');;
SHOW TBLPROPERTIES labelled (colour);;
ALTER TABLE labelled UNSET TBLPROPERTIES (colour);;
SHOW TBLPROPERTIES labelled (colour);;
INSERT INTO labelled VALUES (1, 'a');;
ALTER TABLE labelled RENAME TO renamed;;
SELECT id, v FROM renamed;;
INSERT INTO renamed VALUES (2, 'b');;
SELECT id, v FROM renamed;;
SELECT id FROM labelled;;
