-- group: changes of a table (cow)
CREATE TABLE watched (id INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (type = 'cow', primaryKey = 'id', preCombineField = 'ts');;
INSERT INTO watched VALUES (1, 'a', 1), (2, 'b', 1);;
UPDATE watched SET v = 'bb' WHERE id = 2;;
INSERT INTO watched VALUES (3, 'c', 1);;
SELECT id, v FROM hudi_table_changes('watched', 'latest_state', 'earliest');;
SELECT id, v FROM hudi_table_changes('watched', 'latest_state', '${completed:watched:1}');;
SELECT id, v FROM hudi_table_changes('watched', 'latest_state', '${completed:watched:1}', '${completed:watched:2}');;
SELECT id, v FROM hudi_query('watched', 'snapshot');;
SELECT count(*) FROM hudi_filesystem_view('watched', '');;
SELECT count(*) FROM hudi_metadata('watched') WHERE type = 2;;
SELECT action, state, count(*) FROM hudi_query_timeline('watched', 'false') GROUP BY action, state;;
SELECT id FROM hudi_table_changes('nosuch', 'latest_state', 'earliest');;
SELECT id FROM hudi_table_changes('watched', 'no_such_mode', 'earliest');;

-- group: change data of a table (cow)
CREATE TABLE captured (id INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (type = 'cow', primaryKey = 'id', preCombineField = 'ts', hoodie.table.cdc.enabled = 'true', hoodie.table.cdc.supplemental.logging.mode = 'data_before_after');;
INSERT INTO captured VALUES (1, 'a', 1), (2, 'b', 1);;
UPDATE captured SET v = 'aa' WHERE id = 1;;
DELETE FROM captured WHERE id = 2;;
SELECT op, get_json_object(before, '$.v'), get_json_object(after, '$.v') FROM hudi_table_changes('captured', 'cdc', 'earliest');;
SELECT op, get_json_object(before, '$.id') FROM hudi_table_changes('captured', 'cdc', '${completed:captured:2}');;

-- group: views of log files (mor)
CREATE TABLE layered (id INT, v STRING) USING hudi TBLPROPERTIES (type = 'mor', primaryKey = 'id');;
INSERT INTO layered VALUES (1, 'a'), (2, 'b');;
UPDATE layered SET v = 'bb' WHERE id = 2;;
SELECT id, v FROM hudi_query('layered', 'snapshot');;
SELECT id, v FROM hudi_query('layered', 'read_optimized');;
SELECT id, v FROM hudi_table_changes('layered', 'latest_state', 'earliest');;

-- group: changes after deletes and by path (mor)
CREATE TABLE pulse (id INT, v STRING, ts BIGINT, p STRING) USING hudi PARTITIONED BY (p) LOCATION '${folder}/pulse' TBLPROPERTIES (type = 'mor', primaryKey = 'id', preCombineField = 'ts');;
INSERT INTO pulse VALUES (1, 'a', 1, 'x'), (2, 'b', 1, 'y'), (3, 'c', 1, 'y');;
DELETE FROM pulse WHERE id = 3;;
UPDATE pulse SET v = 'A', ts = 2 WHERE id = 1;;
SELECT id, v, p FROM hudi_table_changes('${folder}/pulse', 'latest_state', 'earliest');;
SELECT id, v, p FROM hudi_table_changes('pulse', 'latest_state', '${completed:pulse:1}', '${completed:pulse:3}') WHERE p = 'x';;
SELECT c.id, t.v FROM hudi_table_changes('pulse', 'latest_state', '${completed:pulse:2}') c JOIN pulse t ON c.id = t.id;;
SELECT id, v, p FROM hudi_query('${folder}/pulse', 'read_optimized');;
SELECT id FROM hudi_query('pulse', 'sideways');;
SELECT count(*) FROM hudi_query_timeline('${folder}/pulse', 'true') WHERE state = 'COMPLETED';;
