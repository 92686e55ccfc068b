// A service that responds immediately, without a rate limit; the parent process receives its base URL and can empty it.
import { createServer } from 'node:http';

let categories = [];
process.on('message', () => {
  categories = [];
});
const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    response.setHeader('content-type', 'application/json');
    if (request.method === 'GET') return response.end(JSON.stringify(categories));
    const category = { id: categories.length + 1, ...JSON.parse(Buffer.concat(chunks).toString()) };
    categories.push(category);
    response.statusCode = 201;
    response.end(JSON.stringify(category));
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send(`http://127.0.0.1:${server.address().port}/v1`));
