-- group: procedures that show (cow)
CREATE TABLE shown (id INT, v STRING, p STRING) USING hudi PARTITIONED BY (p) TBLPROPERTIES (type = 'cow', primaryKey = 'id');;
INSERT INTO shown VALUES (1, 'a', 'x'), (2, 'b', 'y');;
UPDATE shown SET v = 'bb' WHERE id = 2;;
CALL show_commits(table => 'shown', limit => 5);;
CALL show_commits_metadata(table => 'shown');;
CALL show_table_properties(table => 'shown');;
CALL show_savepoints(table => 'shown');;
CALL show_cleans(table => 'shown');;
CALL show_fsview_latest(table => 'shown', partition_path => 'p=x');;
CALL show_clustering(table => 'shown');;
CALL stats_file_sizes(table => 'shown');;
CALL stats_wa(table => 'shown');;
CALL nosuch(table => 'shown');;
CALL show_commits(tabel => 'shown');;
CALL show_commits();;
CALL help();;

-- group: procedures that change (cow)
CREATE TABLE served (id INT, v STRING) USING hudi TBLPROPERTIES (type = 'cow', primaryKey = 'id');;
INSERT INTO served VALUES (1, 'a');;
CALL create_savepoint(table => 'served', commit_time => '${requested:served:1}');;
INSERT INTO served VALUES (2, 'b');;
UPDATE served SET v = 'aa' WHERE id = 1;;
CALL run_clean(table => 'served', retain_commits => 1);;
CALL rollback_to_savepoint(table => 'served', instant_time => '${requested:served:1}');;
SELECT id, v FROM served;;
CALL delete_savepoint(table => 'served', instant_time => '${requested:served:1}');;
INSERT INTO served VALUES (3, 'c');;
CALL run_clustering(table => 'served');;
SELECT id, v FROM served;;

-- group: compaction by procedure (mor)
CREATE TABLE compacted (id INT, v STRING) USING hudi TBLPROPERTIES (type = 'mor', primaryKey = 'id');;
INSERT INTO compacted VALUES (1, 'a'), (2, 'b');;
UPDATE compacted SET v = 'bb' WHERE id = 2;;
CALL run_compaction(op => 'schedule', table => 'compacted');;
CALL show_compaction(table => 'compacted');;
CALL run_compaction(op => 'run', table => 'compacted');;
SELECT id, v FROM compacted;;
SELECT id, v FROM hudi_query('compacted', 'read_optimized');;

-- group: procedures that read, copy-on-write
CREATE TABLE parcels (pid INT, place STRING, kg DOUBLE, seen BIGINT, depot STRING) USING hudi PARTITIONED BY (depot)
TBLPROPERTIES (primaryKey = 'pid', preCombineField = 'seen') LOCATION '${folder}/parcels';;
INSERT INTO parcels VALUES (1, 'shelf', 2.5, 10, 'ulm'), (2, 'belt', 0.7, 10, 'kiel'), (3, 'van', 9.0, 10, 'ulm');;
UPDATE parcels SET place = 'door', seen = 11 WHERE pid = 3;;
CALL show_commits(table => 'parcels');;
CALL show_commits(table => 'parcels', limit => 1);;
CALL show_commits('parcels', 1);;
CALL system.show_commits(table => 'parcels');;
CALL show_commits();;
CALL show_commits(table => 'no_parcels');;
CALL show_commit(table => 'parcels');;
CALL show_commits_metadata(table => 'parcels', limit => 4);;
CALL show_commit_extra_metadata(table => 'parcels');;
CALL show_commit_extra_metadata(table => 'parcels', metadata_key => 'schema');;
CALL show_commit_files(table => 'parcels', instant_time => '20010101000000000');;
CALL show_commit_files(table => 'parcels');;
CALL show_commit_partitions(table => 'parcels', instant_time => '20010101000000000');;
CALL show_commit_write_stats(table => 'parcels', instant_time => '20010101000000000');;
CALL show_archived_commits(table => 'parcels');;
CALL show_archived_commits_metadata(table => 'parcels', start_ts => '0', end_ts => '9');;
CALL show_savepoints(table => 'parcels');;
CALL show_savepoints(path => '${folder}/parcels');;
CALL show_savepoints();;
CALL show_rollbacks(table => 'parcels');;
CALL show_rollback_detail(table => 'parcels', instant_time => '20010101000000000');;
CALL show_clustering(table => 'parcels');;
CALL show_compaction(table => 'parcels');;
CALL show_fsview_all(table => 'parcels');;
CALL show_fsview_all(table => 'parcels', path_regex => 'depot=ulm');;
CALL show_fsview_latest(table => 'parcels');;
CALL show_fsview_latest(table => 'parcels', partition_path => 'depot=kiel');;
CALL show_fsview_latest(table => 'parcels', partition_path => 'depot=kiel', path_regex => '*');;
CALL show_file_status(table => 'parcels', partition => 'depot=ulm', file => 'nothing.parquet');;
CALL show_file_status(table => 'parcels', file => 'nothing.parquet');;
CALL show_fs_path_detail(path => '${folder}/parcels', is_sub => true);;
CALL stats_file_sizes(table => 'parcels', partition_path => '*');;
CALL stats_wa(table => 'parcels', limit => 5);;
CALL show_table_properties(table => 'parcels');;
CALL show_table_properties(path => '${folder}/parcels', limit => 30);;
CALL show_metadata_table_partitions(table => 'parcels');;
CALL show_metadata_table_files(table => 'parcels', partition => 'depot=ulm');;
CALL show_metadata_table_stats(table => 'parcels');;
CALL validate_metadata_table_files(table => 'parcels');;
CALL validate_metadata_table_files(table => 'parcels', verbose => true);;
CALL show_invalid_parquet(path => '${folder}/parcels');;
CALL show_bootstrap_partitions(table => 'parcels');;
CALL commits_compare(table => 'parcels', path => '${folder}/parcels');;
CALL help;;
CALL help(cmd => 'show_commits');;
CALL help(cmd => 'show_nothing');;
SELECT pid, place FROM parcels;;

-- group: procedures that read, merge-on-read
CREATE TABLE meters (mid INT, watt INT, at BIGINT) USING hudi
TBLPROPERTIES (primaryKey = 'mid', preCombineField = 'at', type = 'mor') LOCATION '${folder}/meters';;
INSERT INTO meters VALUES (1, 40, 1), (2, 60, 1);;
UPDATE meters SET watt = 41, at = 2 WHERE mid = 1;;
DELETE FROM meters WHERE mid = 2;;
CALL show_commits(table => 'meters');;
CALL show_commits_metadata(table => 'meters');;
CALL show_compaction(table => 'meters');;
CALL show_compaction(path => '${folder}/meters', limit => 3);;
CALL show_fsview_all(table => 'meters', limit => 2);;
CALL show_fsview_latest(table => 'meters', merge => false);;
CALL show_fsview_latest(table => 'meters', max_instant => '99990101000000000', include_max => true);;
CALL stats_file_sizes(table => 'meters');;
CALL stats_wa(table => 'meters');;
CALL show_metadata_table_files(table => 'meters');;
SELECT mid, watt FROM meters;;
