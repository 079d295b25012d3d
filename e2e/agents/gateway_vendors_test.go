package agents

import (
	"regexp"
	"strings"
)

// messagesProtocol is Anthropic's messages.
var messagesProtocol = protocol{
	name:  "messages",
	path:  regexp.MustCompile(`/messages$`),
	read:  readMessages,
	write: writeMessages,
	failure: func(int) any {
		return object{"type": "error", "error": object{"type": "invalid_request_error", "message": "the gateway refuses, as the prompt wants it"}}
	},
}

// geminiProtocol is Google's generateContent, as one response or as a stream.
var geminiProtocol = protocol{
	name:  "gemini",
	path:  regexp.MustCompile(`:(generateContent|streamGenerateContent)$`),
	read:  readGemini,
	write: writeGemini,
	failure: func(status int) any {
		return object{"error": object{"code": status, "status": "INVALID_ARGUMENT", "message": "the gateway refuses, as the prompt wants it"}}
	},
}

func readMessages(_ string, body object) question {
	q := question{model: text(body["model"]), stream: body["stream"] == true}
	for _, m := range list(body["messages"]) {
		message := fields(m)
		if message["role"] != "user" {
			continue
		}
		q.user = append(q.user, texts(message["content"])...)
		for _, part := range list(message["content"]) {
			q.answered = q.answered || fields(part)["type"] == "tool_result"
		}
	}
	for _, t := range list(body["tools"]) {
		q.tools = append(q.tools, toolSpec{text(fields(t)["name"]), fields(fields(t)["input_schema"])})
	}
	format := fields(fields(body["output_config"])["format"])
	if format == nil {
		format = fields(body["output_format"])
	}
	if format["type"] == "json_schema" {
		q.schema = orObject(fields(format["schema"]))
	}
	return q
}

func writeMessages(out stream, q question, a answer) {
	block, reason := object{"type": "text", "text": a.text}, "end_turn"
	empty, delta := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": a.text}
	if a.callName != "" {
		block, reason = object{"type": "tool_use", "id": "toolu_1", "name": a.callName, "input": a.callArgs}, "tool_use"
		empty, delta = with(block, object{"input": object{}}), object{"type": "input_json_delta", "partial_json": encoded(a.callArgs)}
	}
	message := object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": q.model, "content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
	}
	if !q.stream {
		out.json(200, with(message, object{"content": []any{block}, "stop_reason": reason}))
		return
	}
	event := func(kind string, more object) { out.event(kind, with(more, object{"type": kind})) }
	event("message_start", object{"message": message})
	event("content_block_start", object{"index": 0, "content_block": empty})
	event("content_block_delta", object{"index": 0, "delta": delta})
	event("content_block_stop", object{"index": 0})
	event("message_delta", object{"delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": object{"output_tokens": 5}})
	event("message_stop", object{})
}

var geminiModel = regexp.MustCompile(`/models/([^/:]+):`)

func readGemini(path string, body object) question {
	q := question{stream: strings.HasSuffix(path, ":streamGenerateContent")}
	if m := geminiModel.FindStringSubmatch(path); m != nil {
		q.model = m[1]
	}
	for _, c := range list(body["contents"]) {
		content := fields(c)
		if content["role"] == "model" {
			continue
		}
		q.user = append(q.user, texts(content["parts"])...)
		for _, part := range list(content["parts"]) {
			q.answered = q.answered || fields(part)["functionResponse"] != nil
		}
	}
	for _, t := range list(body["tools"]) {
		for _, d := range list(fields(t)["functionDeclarations"]) {
			function := fields(d)
			schema := fields(function["parametersJsonSchema"])
			if schema == nil {
				schema = fields(function["parameters"])
			}
			q.tools = append(q.tools, toolSpec{text(function["name"]), schema})
		}
	}
	if config := fields(body["generationConfig"]); config["responseMimeType"] == "application/json" {
		if q.schema = fields(config["responseJsonSchema"]); q.schema == nil {
			q.schema = orObject(fields(config["responseSchema"]))
		}
	}
	return q
}

func writeGemini(out stream, q question, a answer) {
	part := object{"text": a.text}
	if a.callName != "" {
		part = object{"functionCall": object{"name": a.callName, "args": a.callArgs}}
	}
	whole := object{
		"candidates": []any{object{
			"index": 0, "finishReason": "STOP", "content": object{"role": "model", "parts": []any{part}},
		}},
		"usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
		"modelVersion":  q.model, "responseId": "response_1",
	}
	if q.stream {
		out.event("", whole)
		return
	}
	out.json(200, whole)
}
