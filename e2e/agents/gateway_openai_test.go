package agents

import (
	"encoding/json"
	"regexp"
	"strings"
)

// chatProtocol is OpenAI's chat completions.
var chatProtocol = protocol{
	name:    "chat",
	path:    regexp.MustCompile(`/chat/completions$`),
	read:    readChat,
	write:   writeChat,
	failure: openAIFailure,
}

// responsesProtocol is OpenAI's responses.
var responsesProtocol = protocol{
	name:    "responses",
	path:    regexp.MustCompile(`/responses$`),
	read:    readResponses,
	write:   writeResponses,
	failure: openAIFailure,
}

func openAIFailure(int) any {
	return object{"error": object{"type": "invalid_request_error", "code": "refused", "message": "the gateway refuses, as the prompt wants it"}}
}

func readChat(_ string, body object) question {
	q := question{model: text(body["model"]), stream: body["stream"] == true}
	for _, m := range list(body["messages"]) {
		message := fields(m)
		switch message["role"] {
		case "user":
			q.user = append(q.user, texts(message["content"])...)
		case "tool":
			q.answered = true
		}
	}
	for _, t := range list(body["tools"]) {
		function := fields(fields(t)["function"])
		q.tools = append(q.tools, toolSpec{text(function["name"]), fields(function["parameters"])})
	}
	if format := fields(body["response_format"]); strings.HasPrefix(text(format["type"]), "json") {
		q.schema = orObject(fields(fields(format["json_schema"])["schema"]))
	}
	return q
}

func orObject(schema object) object {
	if schema == nil {
		return object{"type": "object"}
	}
	return schema
}

func writeChat(out stream, q question, a answer) {
	usage := object{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
	message, finish := object{"role": "assistant", "content": a.text}, "stop"
	if a.callName != "" {
		call := object{"index": 0, "id": "call_1", "type": "function", "function": object{"name": a.callName, "arguments": encoded(a.callArgs)}}
		message, finish = object{"role": "assistant", "content": nil, "tool_calls": []any{call}}, "tool_calls"
	}
	head := func(kind string, choices ...any) object {
		return object{"id": "chat_1", "object": kind, "created": 1, "model": q.model, "choices": append([]any{}, choices...)}
	}
	if !q.stream {
		whole := head("chat.completion", object{"index": 0, "message": message, "finish_reason": finish})
		whole["usage"] = usage
		out.json(200, whole)
		return
	}
	chunk := func(delta object, finish any) {
		out.event("", head("chat.completion.chunk", object{"index": 0, "delta": delta, "finish_reason": finish}))
	}
	chunk(message, nil)
	chunk(object{}, finish)
	last := head("chat.completion.chunk")
	last["usage"] = usage
	out.event("", last)
	out.event("", "[DONE]")
}

func encoded(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // only JSON's own types are sent
	}
	return string(data)
}

func readResponses(_ string, body object) question {
	q := question{model: text(body["model"]), stream: body["stream"] == true}
	if prompt := text(body["input"]); prompt != "" {
		q.user = []string{prompt}
	}
	for _, i := range list(body["input"]) {
		item := fields(i)
		switch {
		case strings.HasSuffix(text(item["type"]), "_output"):
			q.answered = true
		case item["role"] == "user":
			q.user = append(q.user, texts(item["content"])...)
		}
	}
	for _, t := range list(body["tools"]) {
		q.tools = append(q.tools, toolSpec{text(fields(t)["name"]), fields(fields(t)["parameters"])})
	}
	if format := fields(fields(body["text"])["format"]); strings.HasPrefix(text(format["type"]), "json") {
		q.schema = orObject(fields(format["schema"]))
	}
	return q
}

func writeResponses(out stream, q question, a answer) {
	part := object{"type": "output_text", "text": a.text, "annotations": []any{}}
	item := object{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": []any{part}}
	if a.callName != "" {
		item = object{
			"type": "function_call", "id": "fc_1", "call_id": "call_1", "status": "completed",
			"name": a.callName, "arguments": encoded(a.callArgs),
		}
	}
	response := func(status string, output ...any) object {
		r := object{"id": "resp_1", "object": "response", "created_at": 1, "model": q.model, "status": status, "output": append([]any{}, output...)}
		if status == "completed" {
			r["usage"] = object{
				"input_tokens": 10, "output_tokens": 5, "total_tokens": 15,
				"input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": object{"reasoning_tokens": 0},
			}
		}
		return r
	}
	if !q.stream {
		out.json(200, response("completed", item))
		return
	}
	number := 0
	event := func(kind string, more object) {
		more["type"], more["sequence_number"] = kind, number
		number++
		out.event(kind, more)
	}
	event("response.created", object{"response": response("in_progress")})
	event("response.output_item.added", object{"output_index": 0, "item": begun(item)})
	at := object{"item_id": item["id"], "output_index": 0, "content_index": 0}
	if a.callName != "" {
		event("response.function_call_arguments.done", with(at, object{"arguments": item["arguments"], "name": a.callName}))
	} else {
		event("response.content_part.added", with(at, object{"part": with(part, object{"text": ""})}))
		event("response.output_text.delta", with(at, object{"delta": a.text, "logprobs": []any{}}))
		event("response.output_text.done", with(at, object{"text": a.text, "logprobs": []any{}}))
		event("response.content_part.done", with(at, object{"part": part}))
	}
	event("response.output_item.done", object{"output_index": 0, "item": item})
	event("response.completed", object{"response": response("completed", item)})
}

// begun returns a copy of an item without its content, as it is at the beginning of a stream.
func begun(item object) object {
	if item["type"] == "message" {
		return with(item, object{"status": "in_progress", "content": []any{}})
	}
	return with(item, object{"status": "in_progress", "arguments": ""})
}

// with returns a copy of a with the members of b.
func with(a, b object) object {
	out := object{}
	for _, from := range []object{a, b} {
		for name, value := range from {
			out[name] = value
		}
	}
	return out
}
