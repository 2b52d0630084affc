/** Floor (a): the least a Worker can do with a webhook. It reads the body and answers; nothing is checked or kept. */
export default {
  async fetch(request: Request): Promise<Response> {
    const body = await request.arrayBuffer();
    return Response.json({ status: "buffered", sizeBytes: body.byteLength }, { status: 202 });
  },
};
