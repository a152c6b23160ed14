// What a user of `@kubernetes/client-node` does in a day, against the cluster in KUBECONFIG. `ok STEP` a step.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import * as k8s from '@kubernetes/client-node';

const [namespace, python] = process.argv.slice(2);
const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);
const batch = config.makeApiClient(k8s.BatchV1Api);
const apps = config.makeApiClient(k8s.AppsV1Api);

const MERGE = k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch);

const SERVES = `
import os, socket
door = socket.create_server((os.environ["ADDRESS"], 8000))
while True:
    talk, _ = door.accept()
    talk.sendall(b"you said " + talk.recv(100))
    talk.close()
`;

function step(name) {
  console.log('ok', name);
}

function pod(name, command, more = {}) {
  const container = { name: 'main', image: 'x', command, ...more };
  return {
    metadata: { name, labels: { app: name } },
    spec: { restartPolicy: 'Never', terminationGracePeriodSeconds: 1, containers: [container] },
  };
}

async function until(what, look) {
  for (const end = Date.now() + 60_000; Date.now() < end; await sleep(50)) {
    const found = await look();
    if (found) return found;
  }
  throw new Error(`never: ${what}`);
}

/** Resolves with the version of the object at which `wanted` was true of it. */
function watched(path, query, wanted) {
  return new Promise((resolve, reject) => {
    let watching;
    const seen = (type, object) => {
      if (!wanted(type, object)) return;
      resolve(object.metadata.resourceVersion);
      watching.then((controller) => controller.abort());
    };
    const ended = (error) => reject(error ?? new Error(`the watch of ${path} ended`));
    watching = new k8s.Watch(config).watch(path, { timeoutSeconds: 60, ...query }, seen, ended);
    watching.catch(reject);
  });
}

async function refused(code, call) {
  await assert.rejects(call, (error) => error.code === code && JSON.parse(error.body).code === code);
}

async function pods() {
  await core.createNamespace({ body: { metadata: { name: namespace } } });
  await core.createNamespacedPod({ namespace, body: pod('greeter', ['sh', '-c', 'echo hello; exec sleep 600']) });
  step('create');
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const running = (_, object) => object.metadata.name === 'greeter' && object.status.phase === 'Running';
  const version = await watched(path, {}, running);
  step('watch');
  const patch = { namespace, name: 'greeter', body: { metadata: { labels: { patched: 'yes' } } } };
  await core.patchNamespacedPod(patch, MERGE);
  const found = await core.listNamespacedPod({ namespace, labelSelector: 'patched=yes' });
  assert.deepEqual(found.items.map((one) => one.metadata.name), ['greeter']);
  await watched(path, { resourceVersion: version }, (type, one) => type === 'MODIFIED' && one.metadata.labels.patched);
  step('patch');
}

async function logs() {
  await until('the log has a line', async () => (await core.readNamespacedPodLog({ namespace, name: 'greeter' })) === 'hello\n');
  const text = new PassThrough();
  const following = await new k8s.Log(config).log(namespace, 'greeter', 'main', text, { follow: true });
  const [first] = await once(text, 'data');
  assert.equal(String(first), 'hello\n');
  following.abort();
  step('logs');
}

async function execute() {
  const said = new PassThrough();
  const command = ['sh', '-c', 'read line; echo you said $line; exit 3'];
  const status = await new Promise((resolve, reject) => {
    const stdin = Readable.from(['something\n']);
    new k8s.Exec(config).exec(namespace, 'greeter', 'main', command, said, null, stdin, false, resolve).catch(reject);
  });
  assert.equal(String(said.read()), 'you said something\n');
  assert.equal(status.status, 'Failure');
  assert.equal(status.details.causes[0].message, '3');
  step('exec');
}

async function forward() {
  const env = [{ name: 'ADDRESS', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }];
  const readinessProbe = { tcpSocket: { port: 8000 }, periodSeconds: 1 };
  await core.createNamespacedPod({ namespace, body: pod('door', [python, '-c', SERVES], { env, readinessProbe }) });
  await until('the pod is ready', async () => {
    const { status } = await core.readNamespacedPod({ namespace, name: 'door' });
    return status.conditions?.some((one) => one.type === 'Ready' && one.status === 'True');
  });
  const forwarding = new k8s.PortForward(config);
  const server = net.createServer((socket) => forwarding.portForward(namespace, 'door', [8000], socket, null, socket));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const answer = await new Promise((resolve, reject) => {
    const talk = net.connect(server.address().port, '127.0.0.1', () => talk.write('hello'));
    talk.on('data', (data) => resolve(String(data)) || talk.destroy());
    talk.on('error', reject);
  });
  assert.equal(answer, 'you said hello');
  server.close();
  await core.deleteNamespacedPod({ namespace, name: 'door' });
  step('port-forward');
}

async function jobs() {
  const { spec } = pod('quick', ['sh', '-c', 'echo done']);
  await batch.createNamespacedJob({ namespace, body: { metadata: { name: 'quick' }, spec: { template: { spec } } } });
  const completed = (_, job) => job.status?.conditions?.some((one) => one.type === 'Complete' && one.status === 'True');
  await watched(`/apis/batch/v1/namespaces/${namespace}/jobs`, { fieldSelector: 'metadata.name=quick' }, completed);
  const [made] = (await core.listNamespacedPod({ namespace, labelSelector: 'job-name=quick' })).items;
  assert.equal(await core.readNamespacedPodLog({ namespace, name: made.metadata.name }), 'done\n');
  await batch.deleteNamespacedJob({ namespace, name: 'quick', propagationPolicy: 'Foreground' });
  await until('the job is gone', async () => (await batch.listNamespacedJob({ namespace })).items.length === 0);
  step('job');
}

async function deployments() {
  const { metadata, spec } = pod('web', ['sh', '-c', 'exec sleep 600']);
  const template = { metadata, spec: { ...spec, restartPolicy: 'Always' } };
  const body = { metadata, spec: { replicas: 1, selector: { matchLabels: { app: 'web' } }, template } };
  await apps.createNamespacedDeployment({ namespace, body });
  await apps.patchNamespacedDeploymentScale({ namespace, name: 'web', body: { spec: { replicas: 2 } } }, MERGE);
  const scale = await apps.readNamespacedDeploymentScale({ namespace, name: 'web' });
  assert.equal(scale.spec.replicas, 2);
  await until('both replicas are ready', async () => {
    const found = await apps.readNamespacedDeployment({ namespace, name: 'web' });
    return found.status.readyReplicas === 2;
  });
  await apps.deleteNamespacedDeployment({ namespace, name: 'web' });
  step('deployment');
}

async function apply() {
  const objects = k8s.KubernetesObjectApi.makeApiClient(config);
  const settings = (data) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace }, data });
  const applied = (data, manager) =>
    objects.patch(settings(data), undefined, undefined, manager, undefined, k8s.PatchStrategy.ServerSideApply);
  assert.deepEqual((await applied({ a: '1', b: '2' }, 'first')).data, { a: '1', b: '2' });
  assert.deepEqual((await applied({ a: '1' }, 'first')).data, { a: '1' });
  await refused(409, () => applied({ a: '2' }, 'second'));
  step('apply');
}

async function informed() {
  const list = () => core.listNamespacedPod({ namespace });
  const informer = k8s.makeInformer(config, `/api/v1/namespaces/${namespace}/pods`, list);
  const added = new Promise((resolve) => informer.on('add', (one) => one.metadata.name === 'greeter' && resolve()));
  const deleted = new Promise((resolve) => informer.on('delete', (one) => one.metadata.name === 'greeter' && resolve()));
  await informer.start();
  await added;
  await core.deleteNamespacedPod({ namespace, name: 'greeter' });
  await deleted;
  await informer.stop();
  await refused(404, () => core.readNamespacedPod({ namespace, name: 'greeter' }));
  await core.deleteNamespace({ name: namespace });
  step('delete');
}

await pods();
await logs();
await execute();
await forward();
await jobs();
await deployments();
await apply();
await informed();
process.exit(0);
