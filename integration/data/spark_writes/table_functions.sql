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
