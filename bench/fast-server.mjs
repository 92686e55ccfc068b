// A service that responds immediately, without a rate limit: `/v1` keeps the categories that are created, and `/COUNT/v1`
// lists COUNT categories. The parent process receives its origin and can empty it.
import { createServer } from 'node:http';

let categories = [];
process.on('message', () => {
  categories = [];
});
const lists = new Map();
const category = (_, at) => ({
  id: at + 1,
  name: `species ${at}`,
  description: `the description of category number ${at}`,
});
const listOf = (length) => {
  if (!lists.has(length)) lists.set(length, JSON.stringify(Array.from({ length }, category)));
  return lists.get(length);
};
const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    response.setHeader('content-type', 'application/json');
    const [, count] = /^\/(\d+)\//.exec(request.url) ?? [];
    if (request.method === 'GET') return response.end(count ? listOf(Number(count)) : JSON.stringify(categories));
    const created = { id: categories.length + 1, ...JSON.parse(Buffer.concat(chunks).toString()) };
    categories.push(created);
    response.statusCode = 201;
    response.end(JSON.stringify(created));
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send(`http://127.0.0.1:${server.address().port}`));
