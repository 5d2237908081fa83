package org.apache.hudi.aws.transaction.lock;

import java.io.ByteArrayInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Properties;

import org.apache.hudi.client.transaction.lock.StorageLockClient;
import org.apache.hudi.client.transaction.lock.models.LockGetResult;
import org.apache.hudi.client.transaction.lock.models.LockUpsertResult;
import org.apache.hudi.client.transaction.lock.models.StorageLockData;
import org.apache.hudi.client.transaction.lock.models.StorageLockFile;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.common.util.collection.Pair;

/**
 * Requests of the storage lock to an S3 server that asks for no signature, in place of hudi-aws's class of this name,
 * which no registry has for this release. What the lock is, is Hudi's own: its provider and its lock file.
 */
public class S3StorageLockClient implements StorageLockClient {
  private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final URI file;

  public S3StorageLockClient(String owner, String path, Properties properties) {
    file = URI.create(properties.getProperty("endpoint") + "/" + path.substring(path.indexOf("://") + 3));
  }

  private HttpResponse<byte[]> send(HttpRequest.Builder request) {
    // The server wants to be told who asks, and believes it.
    request.header("Authorization",
        "AWS4-HMAC-SHA256 Credential=k/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0");
    try {
      return (HttpResponse<byte[]>) client.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
    } catch (Exception error) {
      throw new RuntimeException(error);
    }
  }

  public Pair<LockUpsertResult, Option<StorageLockFile>> tryUpsertLockFile(
      StorageLockData data, Option<StorageLockFile> previous) {
    HttpRequest.Builder request = HttpRequest.newBuilder(file)
        .PUT(HttpRequest.BodyPublishers.ofByteArray(StorageLockFile.toByteArray(data)));
    if (previous.isPresent()) {
      request.header("If-Match", ((StorageLockFile) previous.get()).getVersionId());
    } else {
      request.header("If-None-Match", "*");
    }
    HttpResponse<byte[]> answer = send(request);
    if (answer.statusCode() == 200) {
      StorageLockFile written = new StorageLockFile(data, (String) answer.headers().firstValue("ETag").get());
      return Pair.of(LockUpsertResult.SUCCESS, Option.of(written));
    }
    boolean refused = answer.statusCode() == 412;
    return Pair.of(refused ? LockUpsertResult.ACQUIRED_BY_OTHERS : LockUpsertResult.UNKNOWN_ERROR, Option.empty());
  }

  public Pair<LockGetResult, Option<StorageLockFile>> readCurrentLockFile() {
    HttpResponse<byte[]> answer = send(HttpRequest.newBuilder(file).GET());
    if (answer.statusCode() == 404) {
      return Pair.of(LockGetResult.NOT_EXISTS, Option.empty());
    }
    String version = (String) answer.headers().firstValue("ETag").get();
    return Pair.of(LockGetResult.SUCCESS,
        Option.of(StorageLockFile.createFromStream(new ByteArrayInputStream((byte[]) answer.body()), version)));
  }

  public Option<String> readObject(String path, boolean check) {
    return Option.empty();
  }

  public boolean writeObject(String path, String content) {
    return false;
  }

  public void close() {
  }
}
